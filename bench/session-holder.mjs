// One process of the sessions' benchmark: holds locks, and does what it is told by a line on stdin. It answers
// with what that took, in its own CPU time, heap, and worst delay of its event loop.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast } from "../dist/index.js";

const task = JSON.parse(process.argv[2]);
const AT_ONCE = 50;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const client = new DynamoDBClient({
  endpoint: task.endpoint,
  region: "local",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
  // As many as a client releases at once when it closes.
  requestHandler: { httpAgent: { keepAlive: true, maxSockets: 256 } },
});
const locks = new Holdfast({ client, table: task.table, lease: task.lease, closeTimeout: "10m" });
const session = task.kind === "a session" && task.locks > 0 ? await locks.session() : undefined;
const leases = [];
let periodMs = 0;

async function acquire() {
  let next = 0;
  const lane = async () => {
    while (next < task.locks) {
      const name = `${task.name} ${next}`;
      next += 1;
      leases.push(await locks.mutex(name, session && { session }).acquire());
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

const STEPS = {
  acquire,
  /** Every lock's first renewal, which moves it to the session if there is one. */
  settle: () => pause(1.1 * periodMs),
  hold: (periods) => pause(Number(periods) * periodMs),
  close: () => locks.close(),
};

for await (const line of createInterface({ input: process.stdin })) {
  const [step, argument] = line.split(" ");
  periodMs = (leases[0]?.leaseMs ?? 30_000) / 3;
  globalThis.gc();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const [cpu, startMs] = [process.cpuUsage(), performance.now()];
  await STEPS[step](argument);
  delay.disable();
  const { user, system } = process.cpuUsage(cpu);
  const tookMs = performance.now() - startMs;
  const lateMs = Math.max(0, delay.max / 1e6 - 1);
  const held = leases.filter((lease) => lease.isHeld).length;
  globalThis.gc();
  const heapMb = process.memoryUsage().heapUsed / 1e6;
  const told = { tookMs, cpuMs: (user + system) / 1_000, lateMs, heapMb, held };
  process.stdout.write(`${JSON.stringify(told)}\n`);
  if (step === "close") break;
}
client.destroy();
process.exit(0);
