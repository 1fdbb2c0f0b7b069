import { HoldfastError } from "../../errors.js";

/** What a waiter may ask for besides the lock. */
export interface QueueOptions {
  /**
   * What becomes of a waiter that could not keep its place, because it slept for longer than its lease
   * or was cut off for as long: `"requeue"`, the default, at the back; `"fail"` rejects with
   * `not-acquired`. It never comes back to its old place.
   */
  readonly onPlaceExpired?: "requeue" | "fail" | undefined;
  /**
   * Called with how many waiters are before this one, 0 for the next in line, whenever a reading shows
   * another number. Exact for the first 16; further back it is counted once in a renewal's period. What
   * it throws ends the acquisition.
   */
  readonly onPosition?: ((position: number) => void) | undefined;
}

/** The defaults of whatever waits in order, each with its reason. */
export const FAIR_DEFAULTS = Object.freeze({
  /** A place in a queue is lost with its lease: it outlives what a mutex's waiter need not notice. */
  lease: "60s",
  poll: Object.freeze({
    /** Of the next in line; what a hand-over to another process takes, at most. */
    min: "500ms",
    /** Of those further back: twelve reads a minute. */
    max: "5s",
  }),
});

/** Throws `invalid-argument` for what is none of them. */
export function checkQueueOptions(options: QueueOptions): QueueOptions {
  const { onPlaceExpired, onPosition } = options;
  if (onPlaceExpired !== undefined && !["requeue", "fail"].includes(onPlaceExpired)) {
    throw new HoldfastError(
      "invalid-argument",
      `The option \`onPlaceExpired\` must be "requeue" or "fail"; it is "${onPlaceExpired}".`,
    );
  }
  if (onPosition !== undefined && typeof onPosition !== "function") {
    throw new HoldfastError("invalid-argument", "The option `onPosition` must be a function.");
  }
  return options;
}
