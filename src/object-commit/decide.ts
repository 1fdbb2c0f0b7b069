import type { CommitTarget } from "../formats/object-commit.js";
import type { ObjectHead, StoreAnswer } from "../platform/s3/objects.js";

/** All that branches in committing an object, in pure functions. */

/** Whether the object is as the caller demands: absent for a create, else of exactly this ETag. */
export function isMet({ etag }: CommitTarget, found: ObjectHead | undefined): boolean {
  return found?.etag === etag;
}

/** What is known of a write that was sent. */
export interface SentState {
  /** Some send of it was never answered, so it may have landed, or may still land. */
  readonly isUnsure: boolean;
  /** It may be sent again after a send without an answer: the store would refuse a second landing. */
  readonly mayRepeatUnsure: boolean;
  /** Its body can be read again. */
  readonly canRepeat: boolean;
}

/**
 * What comes after an answer.
 * - `committed`: it is done.
 * - `look`: read back, and judge by what is found.
 * - `again`: it was certainly not carried out; send it once more.
 * - `failed`: it was certainly not carried out, and never will be.
 */
export type AfterAnswer = "committed" | "look" | "again" | "failed";

/** Decides by the answer alone; `look` wherever that is not enough. */
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
      // It says what became of the last send, and nothing of one before it.
      return state.isUnsure ? "look" : "failed";
    case "refused":
    case "absent":
    case "unknown":
      return "look";
  }
}

/**
 * What a look shows.
 * - `committed`: the object is what this write made.
 * - `unmet`: the condition does not hold, and the write was not carried out.
 * - `again`: the object is as it was; send again.
 * - `wait`: the object is as it was; the write may still land, so nothing can be sent.
 * - `unknown`: the object is another; whether this write was there in between, nobody can say.
 */
export type AfterLook = "committed" | "unmet" | "again" | "wait" | "unknown";

/** Decides by the object as it is now. */
export function afterLook(isMine: boolean, isAsBefore: boolean, state: SentState): AfterLook {
  if (isMine) return "committed";
  if (!isAsBefore) return state.isUnsure ? "unknown" : "unmet";
  // It was refused a moment ago, and its body is gone: that moment is what the caller is told of.
  if (!state.isUnsure) return state.canRepeat ? "again" : "unmet";
  return state.canRepeat && state.mayRepeatUnsure ? "again" : "wait";
}

/**
 * For how much longer a record keeps others out, in milliseconds; 0 when its place may be taken.
 * Counted from when this process first saw it, by its monotonic clock, and strictly longer than
 * the record's `timeout` times the rate. A record that says 0 is nobody's.
 */
export function acquirableInMs(timeoutMs: number, rate: number, watchedMs: number): number {
  if (timeoutMs === 0) return 0;
  const leftMs = timeoutMs * rate - watchedMs;
  // At exactly that length it is not yet longer.
  return leftMs < 0 ? 0 : Math.max(leftMs, 1);
}
