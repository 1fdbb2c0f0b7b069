// Waits for many locks at once, holds each for a while, and reports every hold and every write to a session's
// record, by the clock of the machine, which all processes share.
import { Holdfast, inspect, mutex } from "../../../packages/holdfast/dist/index.js";
import { client, options, say, task } from "./common.mjs";

const nowNs = () => process.hrtime.bigint();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

client.middlewareStack.add(
  (next) => async (args) => {
    const key = args.input.Key?.pk?.S ?? "";
    const isWrite = args.input.UpdateExpression !== undefined && key.startsWith("session#");
    try {
      const answer = await next(args);
      if (isWrite) say("wrote", { key, answer: "applied" });
      return answer;
    } catch (error) {
      if (isWrite) say("wrote", { key, answer: error.name });
      throw error;
    }
  },
  { step: "initialize" },
);
// Created here: a Holdfast uses the middleware present in the client at creation.
const locks = new Holdfast({ client, table: task.table, ...options });

async function takeOne(name) {
  const lease = await mutex(locks, name).acquire();
  const grantedNs = nowNs();
  let believedNs = grantedNs;
  for (const untilNs = grantedNs + BigInt(task.holdMs) * 1_000_000n; nowNs() < untilNs; ) {
    await pause(20);
    // Taken before the question: the belief was still valid at this time.
    const beforeNs = nowNs();
    if (!lease.isHeld) break;
    believedNs = beforeNs;
  }
  const { fence } = lease;
  await lease.release();
  const hold = { name, fence, grantedNs, believedNs };
  return Object.fromEntries(Object.entries(hold).map(([key, value]) => [key, String(value)]));
}

say("started");
// All rivals start together, once the gate is open.
const isOpen = () =>
  inspect(locks, task.gate).then(
    ({ state }) => state === "held",
    () => false,
  );
while (!(await isOpen())) await pause(50);
say("waiting");
const holds = await Promise.all(task.names.map(takeOne));
say("took", { holds });
await locks.close();
client.destroy();
