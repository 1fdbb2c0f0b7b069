/** A timer that was set. */
export interface Timer {
  cancel(): void;
}

/** The one source of delayed calls. */
export interface Timers {
  /**
   * Calls `callback` after at least `delayMs` milliseconds of the monotonic clock. `keepsAlive` says whether a
   * pending timer keeps the process alive.
   */
  set(delayMs: number, keepsAlive: boolean, callback: () => void): Timer;
}

// Node.js fires a timer with a longer delay after one millisecond. A long lease would then cause a busy loop.
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
