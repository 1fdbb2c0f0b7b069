import type { Timers } from "../platform/timers.js";

/**
 * Whether this is done within the time, in milliseconds: true once it is, false once the time is over.
 * Rejects as it does. The timer keeps the process alive.
 */
export function settlesWithin(
  timers: Timers,
  boundMs: number,
  done: Promise<unknown>,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = timers.set(boundMs, true, () => resolve(false));
    done.then(() => resolve(true), reject).finally(() => timer.cancel());
  });
}
