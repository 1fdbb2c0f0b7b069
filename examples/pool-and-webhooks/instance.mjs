// One instance of a service: of all that run, one converges the pool and redelivers webhooks. It tells its
// parent what it does, with a clock that all processes of the machine share.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast } from "holdfast";
import { leaderTasks } from "holdfast/election";

const [, , name, failover] = process.argv;
const locks = new Holdfast({
  client: new DynamoDBClient({}),
  table: process.env.HOLDFAST_TABLE ?? "locks",
  owner: name,
});

const tell = (what, more) => {
  const atMs = Number(process.hrtime.bigint()) / 1e6;
  process.send?.({ what, name, atMs, ...more });
};

let ticks = 0;

// A run is some steps, and looks before each of them whether it still may.
const work =
  (worker, steps) =>
  async ({ signal, term }) => {
    ticks += 1;
    const tick = ticks;
    for (let step = 1; step <= steps; step += 1) {
      signal.throwIfAborted();
      tell("act", { worker, tick, step, term: String(term.fence) });
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };

const coordinator = leaderTasks(locks, {
  name: "pool",
  failover,
  // Every 30 seconds and every 5 minutes, a hundred times as fast.
  tasks: [
    { name: "converge", every: "300ms", run: work("converge", 5) },
    { name: "webhooks", every: "3s", run: work("webhooks", 10) },
  ],
});
coordinator.election.onTransition(({ kind, term }) => tell(kind, { term: String(term) }));
coordinator.start();

process.once("SIGTERM", async () => {
  await locks.close(); // runs end first, then the leadership is released
  process.exit(0);
});
