// A member of a group that shares names, whose runs go into a ledger.
import { locks, say, task } from "./common.mjs";
import { act, note } from "./ledger.mjs";

const { assign } = await import("../../../packages/holdfast/dist/assign/index.js");

const assignment = assign(locks, task.name, {
  ...{ names: task.names, period: "1s", stopTimeout: "1s" },
  run: async (name, lease) => {
    const of = { name, fence: String(lease.fence) };
    note({ kind: "began", ...of });
    await act(lease, lease.signal, of, Number.POSITIVE_INFINITY);
    note({ kind: "ended", ...of });
  },
});
process.on("SIGUSR2", async () => {
  await assignment.stop();
  await locks.close();
  say("stopped");
});
await assignment.start();
say("started");
