// Many waiters for the same fair lock in one process. Each waiter logs every turn to a file shared by all
// processes. `poll` and the lease come from the task.
import { appendFileSync } from "node:fs";
import { fairLock, locks, say, task } from "./common.mjs";

const nowNs = () => String(process.hrtime.bigint());

async function queue(waiter) {
  const owner = `${process.pid} ${waiter}`;
  const options = { wait: Number.POSITIVE_INFINITY, poll: task.poll, owner };
  await fairLock(locks, task.name).run(options, async (lease) => {
    const write = (what) => {
      const fence = String(lease.fence);
      const entry = { what, fence, pid: process.pid, waiter, atNs: nowNs() };
      appendFileSync(task.log, `${JSON.stringify(entry)}\n`);
    };
    write("begin");
    await new Promise((resolve) => setTimeout(resolve, task.workMs));
    if (!lease.isHeld) return;
    write("end");
  });
}

const waiters = Array.from({ length: task.waiters }, (_, index) => queue(index));
say("started");
const settled = await Promise.allSettled(waiters);
const failed = settled.filter(({ status }) => status === "rejected");
await locks.close();
say("ended", { failed: failed.map(({ reason }) => `${reason.code}: ${reason}`) });
