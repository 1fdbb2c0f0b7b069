// One process of the failover runs: a candidate that ticks while leading. Reports on stdout with the monotonic
// clock that all processes of a machine share. A line on stdin makes the leader resign.
import { writeSync } from "node:fs";
import { uptime } from "node:os";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { leaderTasks } from "../packages/holdfast/dist/election/index.js";
import { Holdfast } from "../packages/holdfast/dist/index.js";

const task = JSON.parse(process.argv[2]);
const say = (event, more = {}) => {
  const atMs = Number(process.hrtime.bigint()) / 1e6;
  writeSync(1, `${JSON.stringify({ event, atMs, ...more })}\n`);
};

const client = new DynamoDBClient({
  endpoint: task.endpoint,
  region: "local",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
});
const locks = new Holdfast({
  client,
  table: task.table,
  environment: {
    clock: {
      monotonicMs: () => performance.now(),
      // Civil time may be minutes off on any machine.
      wallMs: () => Date.now() + task.skewMs,
      bootMs: () => uptime() * 1000,
    },
  },
});
const coordinator = leaderTasks(locks, {
  name: task.name,
  ...Object.fromEntries(Object.entries(task.lengths).map(([name, ms]) => [name, `${ms}ms`])),
  tasks: [
    {
      name: "tick",
      every: `${task.everyMs}ms`,
      async run({ signal, term }) {
        say("start", { term: String(term.fence) });
        await new Promise((resolve) => {
          const timer = setTimeout(resolve, task.everyMs / 2);
          signal.addEventListener("abort", () => {
            clearTimeout(timer);
            resolve();
          });
        });
        say("end", { term: String(term.fence) });
      },
    },
  ],
});
coordinator.election.onTransition(({ kind, term }) => say(kind, { term: String(term) }));
coordinator.start();
say("started");

process.stdin.on("data", () => void coordinator.resign());
process.once("SIGTERM", async () => {
  await locks.close();
  process.exit(0);
});
