// A function in the style of Lambda: handlers are invoked one after another in a process that is frozen between
// two invocations, and may be frozen during an invocation.
import { createServer } from "node:net";
import { withLock } from "../../../packages/holdfast/dist/lambda/index.js";
import { locks, say, task } from "./common.mjs";

// The runtime waits for the next invocation on a socket, so that the process stays alive.
const runtime = createServer().listen(0, "127.0.0.1");

const handler = withLock({ locks, name: task.name, needs: 0 }, async (event, _, lease) => {
  say("held", { run: event.run });
  if (event.run === 1) return "done";
  say("acted", { isHeld: lease.isHeld });
  process.kill(process.pid, "SIGSTOP");
  const aborted = lease.signal.aborted;
  say("thawed", { aborted, isHeld: lease.isHeld, remainingMs: lease.remainingMs() });
});

async function invoke(run) {
  const endMs = Date.now() + task.timeoutMs;
  const context = { getRemainingTimeInMillis: () => endMs - Date.now() };
  await handler({ run }, context).then(
    () => say(`returned ${run}`, { resources: process.getActiveResourcesInfo() }),
    (error) => say(`rejected ${run}`, { code: error.code, reason: error.reason }),
  );
}

// Listens before it reports: a signal without a listener would kill the process.
const secondInvocation = new Promise((resolve) => process.once("SIGUSR2", resolve));
await invoke(1);
await secondInvocation;
await invoke(2);
runtime.close();
await locks.close();
