import type { Incarnation } from "./incarnation.js";

const STEP_MS = 100;

/**
 * Expects a call to settle soon after its wait (0: no wait). Counts steps of 100 ms on the timers of the process, so that a
 * pause of the process, however long, counts as one step at most. A call without a wait waits for its turn among the other
 * claims of its client, so no step counts during a burst.
 */
export function settlesInTime<T>(
  self: Incarnation,
  waitMs: number,
  what: string,
  call: Promise<T>,
): Promise<T> {
  let isSettled = false;
  const settled = (): void => {
    isSettled = true;
  };
  call.then(settled, settled);
  const watch = async (): Promise<void> => {
    const { leaseMs, requestTimeoutMs } = self.run.plan;
    // Without a wait: two claims of half a lease, each with a read; and for a free lock with an abandoned queue, three
    // reads and two writes, and the read and the claim after them.
    const limitMs =
      waitMs === 0 ? leaseMs[1] + 9 * requestTimeoutMs : waitMs + 2 * requestTimeoutMs;
    for (let passedMs = 0; passedMs < limitMs; ) {
      if (isSettled) return;
      if (waitMs > 0 || self.bursts === 0) passedMs += STEP_MS;
      await self.sleep(STEP_MS);
    }
    if (!isSettled)
      self.run.fail("bounded call", `${self.name} ${what} for more than ${limitMs} ms`);
  };
  void watch();
  return call;
}
