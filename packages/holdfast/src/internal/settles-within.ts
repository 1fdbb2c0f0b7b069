import type { Timers } from "../platform/timers.js";

/**
 * Waits for a promise for a limited time in milliseconds: true if the promise settles first, else false.
 * Rejects if the promise rejects. The timer keeps the process alive.
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
