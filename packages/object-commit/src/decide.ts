import type { ObjectHead, StoreAnswer } from "holdfast/internal";
import type { CommitTarget } from "./format.js";

/** All decisions of a commit, as pure functions. */

/** Whether the object meets the caller's condition: absent for a create, else with exactly this ETag. */
export function isMet({ etag }: CommitTarget, found: ObjectHead | undefined): boolean {
  return found?.etag === etag;
}

/** The state of a write after its sends. */
export interface SentState {
  /** A send was never answered. The store may have applied the write, or may apply it later. */
  readonly isUnsure: boolean;
  /** The write may be retried after an unanswered send: the store would refuse a second application. */
  readonly mayRepeatUnsure: boolean;
  /** The body can be read again. */
  readonly canRepeat: boolean;
}

/**
 * The next step after an answer.
 * - `committed`: the write was applied.
 * - `look`: read the object, and decide by its state.
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
 * The decision after a read.
 * - `committed`: this write wrote the object.
 * - `unmet`: the condition is false, and the write was not applied.
 * - `again`: the object is unchanged; retry.
 * - `wait`: the object is unchanged, but the store may still apply the write, so the write must not be sent again.
 * - `unknown`: the object has changed. The store may have applied this write before another write replaced it.
 */
export type AfterLook = "committed" | "unmet" | "again" | "wait" | "unknown";

/** Decides by the object as read now. */
export function afterLook(isMine: boolean, isAsBefore: boolean, state: SentState): AfterLook {
  if (isMine) return "committed";
  if (!isAsBefore) return state.isUnsure ? "unknown" : "unmet";
  // The store has just refused the write, and the stream cannot be read again. The condition was false at the refusal.
  if (!state.isUnsure) return state.canRepeat ? "again" : "unmet";
  return state.canRepeat && state.mayRepeatUnsure ? "again" : "wait";
}

/**
 * Returns the milliseconds until another writer may replace a record; 0 if it may replace the record now.
 *
 * The time counts from this process's first read of the record, on its monotonic clock. It must be strictly longer than
 * the record's `timeout` times `rate`. A `timeout` of 0 means that no writer acts on the record.
 */
export function acquirableInMs(timeoutMs: number, rate: number, watchedMs: number): number {
  if (timeoutMs === 0) return 0;
  const leftMs = timeoutMs * rate - watchedMs;
  // At zero, the time is equal, and not yet strictly longer.
  return leftMs < 0 ? 0 : Math.max(leftMs, 1);
}
