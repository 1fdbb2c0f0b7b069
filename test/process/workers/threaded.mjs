// Holds a lock on a session that a thread renews, and blocks the event loop in the body of run(): by a busy loop, or
// with `sleeps` by a wait that leaves the processor to others.
import { blockFor, locks, mutex, say, task } from "./common.mjs";

const cell = new Int32Array(new SharedArrayBuffer(4));

try {
  await mutex(locks, task.name).run(async (lease) => {
    say("held", { fence: String(lease.fence) });
    if (task.waitMs) await new Promise((resolve) => setTimeout(resolve, task.waitMs));
    // Askable in the block, too: a dead thread shows as an early end.
    const fromMs = performance.now();
    let lostAfterMs;
    let lostAtMs;
    while (task.blockMs && performance.now() - fromMs < task.blockMs) {
      if (task.sleeps) Atomics.wait(cell, 0, 0, 50);
      else blockFor(50);
      if (lostAfterMs === undefined && task.asks && !lease.isHeld) {
        lostAfterMs = performance.now() - fromMs;
        lostAtMs = Date.now();
      }
    }
    const isHeld = lease.isHeld;
    const { aborted } = lease.signal;
    // The wall clock is that of all processes, and does not depend on when a message arrives.
    say("unblocked", { isHeld, aborted, lostAfterMs, lostAtMs, atMs: Date.now() });
  });
  say("kept");
} catch (error) {
  say("rejected", { code: error.code, reason: error.reason, message: error.message });
}
await locks.close();
say("closed");
