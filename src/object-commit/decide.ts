import type { CommitTarget } from "../formats/object-commit.js";
import type { ObjectHead, StoreAnswer } from "../platform/s3/objects.js";

/** All decisions of a commit, as pure functions. */

/** Whether the object meets the caller's condition: absent for a create, else with exactly this ETag. */
export function isMet({ etag }: CommitTarget, found: ObjectHead | undefined): boolean {
  return found?.etag === etag;
}

/** The state of a write after its sends. */
export interface SentState {
  /** A send was never answered, so the write may have been applied, or may still be. */
  readonly isUnsure: boolean;
  /** The write may be retried after an unanswered send: the store would refuse a second application. */
  readonly mayRepeatUnsure: boolean;
  /** The body can be read again. */
  readonly canRepeat: boolean;
}

/**
 * The next step after an answer.
 * - `committed`: the write was applied.
 * - `look`: read back, and judge by the object.
 * - `again`: the write was certainly not applied; retry.
 * - `failed`: the write was certainly not applied, and never will be.
 */
export type AfterAnswer = "committed" | "look" | "again" | "failed";

/** Decides by the answer alone; `look` if the answer is not enough. */
export function afterAnswer(answer: StoreAnswer["kind"], state: SentState): AfterAnswer {
  switch (answer) {
    case "stored":
      return "committed";
    case "throttled":
    case "conflict":
    case "skewed":
      if (state.canRepeat) return "again";
      return state.isUnsure ? "look" : "failed";
    case "misconfigured":
      // The answer is about the last send, and says nothing about earlier sends.
      return state.isUnsure ? "look" : "failed";
    case "refused":
    case "absent":
    case "unknown":
      return "look";
  }
}

/**
 * The verdict of a read.
 * - `committed`: this write made the object.
 * - `unmet`: the condition is false, and the write was not applied.
 * - `again`: the object is unchanged; retry.
 * - `wait`: the object is unchanged, but the write may still be applied, so nothing can be sent.
 * - `unknown`: the object has changed; this write may have been applied in between.
 */
export type AfterLook = "committed" | "unmet" | "again" | "wait" | "unknown";

/** Decides by the object as read now. */
export function afterLook(isMine: boolean, isAsBefore: boolean, state: SentState): AfterLook {
  if (isMine) return "committed";
  if (!isAsBefore) return state.isUnsure ? "unknown" : "unmet";
  // The store refused a moment ago, and the body is gone: report the condition at that moment as false.
  if (!state.isUnsure) return state.canRepeat ? "again" : "unmet";
  return state.canRepeat && state.mayRepeatUnsure ? "again" : "wait";
}

/**
 * Returns for how many more milliseconds a record keeps rivals out; 0 when a rival may take the record.
 *
 * Counted from when this process first read the record, by its monotonic clock, and strictly longer than the record's
 * `timeout` times the rate. A `timeout` of 0 means that no writer acts on the record.
 */
export function acquirableInMs(timeoutMs: number, rate: number, watchedMs: number): number {
  if (timeoutMs === 0) return 0;
  const leftMs = timeoutMs * rate - watchedMs;
  // At exactly this duration the wait is not yet longer.
  return leftMs < 0 ? 0 : Math.max(leftMs, 1);
}
