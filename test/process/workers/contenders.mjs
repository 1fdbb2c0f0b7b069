// Many contenders for the same name in one process. Each contender logs the beginning and end of the work to a
// file shared by all processes.
import { appendFileSync } from "node:fs";
import { locks, mutex, say, task } from "./common.mjs";

const nowNs = () => String(process.hrtime.bigint());

async function contend(contender) {
  await mutex(locks, task.name).run(async (lease) => {
    const write = (what) =>
      appendFileSync(
        task.log,
        `${JSON.stringify({ what, fence: String(lease.fence), pid: process.pid, contender, atNs: nowNs() })}\n`,
      );
    write("begin");
    await new Promise((resolve) => setTimeout(resolve, task.workMs));
    lease.assertHeld();
    write("end");
  });
}

const contenders = Array.from({ length: task.contenders }, (_, index) => contend(index));
const settled = await Promise.allSettled(contenders);
const failed = settled.filter(({ status }) => status === "rejected");
say("ended", { failed: failed.map(({ reason }) => String(reason)) });
