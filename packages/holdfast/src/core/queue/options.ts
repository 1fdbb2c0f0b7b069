import { checkCallback, checkOneOf } from "../../internal/option-names.js";
import { type AcquireOptions, FAIR_POLL } from "../options.js";

/** Options of a waiter in a queue. */
export type QueueOptions = Pick<AcquireOptions, "onPlaceExpired" | "onPosition">;

/** The defaults of fair locks, with reasons. */
export const FAIR_DEFAULTS = /* @__PURE__ */ Object.freeze({
  /**
   * A place in the queue expires with the lease of its entry. A waiter of a mutex without a place has none to lose, so
   * this lease is long enough to outlast the faults that do not harm such a waiter.
   */
  lease: "60s",
  poll: FAIR_POLL,
});

/**
 * Checks the options of a waiter. Throws `invalid-argument`. `onRejected` receives the rejection of an async `onPosition`,
 * which nobody awaits.
 */
export function checkQueueOptions(
  { onPlaceExpired, onPosition }: QueueOptions,
  onRejected: (cause: unknown) => void = () => undefined,
): QueueOptions {
  if (onPlaceExpired !== undefined)
    checkOneOf("onPlaceExpired", onPlaceExpired, ["requeue", "fail"]);
  const told = checkCallback("onPosition", onPosition);
  return {
    onPlaceExpired,
    onPosition: told && ((position) => void Promise.resolve(told(position)).catch(onRejected)),
  };
}
