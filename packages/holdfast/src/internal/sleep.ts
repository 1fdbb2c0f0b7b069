import type { SignalLike } from "../platform/abort.js";
import type { Timers } from "../platform/timers.js";

/** Waits `delayMs`, or less if `signal` aborts first. Never rejects: the caller checks the signal. */
export function sleep(
  timers: Timers,
  delayMs: number,
  keepsAlive: boolean,
  signal?: SignalLike,
): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = timers.set(delayMs, keepsAlive, done);
    signal?.addEventListener("abort", done);
  });
}
