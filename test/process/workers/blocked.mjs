// Blocks the event loop for longer than the lease, in the body of run().
import { blockFor, locks, mutex, say, task } from "./common.mjs";

try {
  await mutex(locks, task.name).run(async (lease) => {
    say("held", { fence: String(lease.fence) });
    blockFor(task.blockMs);
    const remainingMs = lease.remainingMs();
    say("unblocked", { remainingMs, isHeld: lease.isHeld, aborted: lease.signal.aborted });
  });
  say("kept");
} catch (error) {
  say("rejected", { code: error.code, reason: error.reason });
}
