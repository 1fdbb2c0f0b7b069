import { HoldfastError } from "../../errors.js";
import type { OptionNames } from "../../internal/option-names.js";
import { FAIR_POLL } from "../options.js";

/** Options of a waiter in a queue. */
export interface QueueOptions {
  /**
   * The action of a waiter with an expired place in the queue, after a pause or a network fault longer than the
   * lease. `"requeue"`, the default: joins again at the back. `"fail"`: rejects with `not-acquired`. The waiter never
   * gets the old place back.
   */
  readonly onPlaceExpired?: "requeue" | "fail" | undefined;
  /**
   * The client calls this whenever a read shows a new number of waiters before this waiter. The first waiter has the
   * number 0. The number is exact up to 16, except that a waiter with one waiter before it may learn only after 5 s
   * that this waiter gave up. Further back, the client subtracts the grants that it sees from its last count. It counts
   * at half the distance, and at least once a renewal period. An error of the callback ends the acquisition.
   */
  readonly onPosition?: ((position: number) => void) | undefined;
}

export const QUEUE_NAMES: OptionNames<QueueOptions> = { onPlaceExpired: true, onPosition: true };

/** The defaults of fair locks, with reasons. */
export const FAIR_DEFAULTS = Object.freeze({
  /**
   * A place in the queue expires with the lease of its entry. A waiter of a mutex without a place has none to lose, so
   * this lease is long enough to outlast the faults that do not harm such a waiter.
   */
  lease: "60s",
  poll: FAIR_POLL,
});

/** Checks the options of a waiter. Throws `invalid-argument`. */
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
