// An instance of a service with schedules, whose runs go into a ledger.
import "./wrong-clock.mjs";

import { subscribe } from "node:diagnostics_channel";
import { locks, say, task } from "./common.mjs";
import { act, note } from "./ledger.mjs";

const { SCHEDULE_CHANNEL, schedule } = await import(
  "../../../packages/holdfast/dist/schedule/index.js"
);

subscribe(SCHEDULE_CHANNEL, ({ name, phase, dueMs, attempt }) => {
  if (phase === "interrupted") note({ kind: phase, name, dueMs, attempt });
});
for (const [name, { failEvery, workMs, ...options }] of Object.entries(task.schedules)) {
  schedule(locks, name, options, async ({ due, attempt, signal, lease }) => {
    const of = { name, fence: String(lease.fence), dueMs: due.getTime(), attempt };
    note({ kind: "began", ...of });
    await act(lease, signal, of, workMs);
    const failed = signal.aborted || attempt <= (due.getTime() / task.everyMs) % failEvery;
    note({ kind: failed ? "failed" : "completed", ...of });
    if (failed) throw new Error("failed");
  }).start();
}
say("scheduled");
