/** A timer that was set. */
export interface Timer {
  cancel(): void;
}

/** The one source of waking up later. */
export interface Timers {
  /**
   * Calls back after at least `delayMs` milliseconds of the monotonic clock.
   * `keepsAlive` says whether the process may end while the timer is pending.
   */
  set(delayMs: number, keepsAlive: boolean, callback: () => void): Timer;
}

// Node fires a longer timer after one millisecond: a long lease would become a busy loop.
const LONGEST_MS = 2 ** 31 - 1;

/** The timers of this process, for any length. */
export const systemTimers: Timers = {
  set(delayMs, keepsAlive, callback) {
    let handle: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      const stepMs = Math.min(Math.max(leftMs, 0), LONGEST_MS);
      handle = setTimeout(() => (leftMs > stepMs ? arm(leftMs - stepMs) : callback()), stepMs);
      if (!keepsAlive) handle.unref();
    };
    arm(Math.ceil(delayMs));
    return { cancel: () => clearTimeout(handle) };
  },
};
