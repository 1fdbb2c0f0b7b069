// Three instances, of which one leads. The leader is killed, the next one is stopped for a while, the third
// one is cut off from the table; a timeline is printed, and checked: no step of a term after the first step of
// a later one, no step twice, and no gap longer than the failover time.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { startFaultProxy, startMemoryServer } from "@holdfast/testing";
import { createTable } from "holdfast/table";

const FAILOVER_MS = 3_000;
// For requests on a busy machine, which the failover time leaves no room for at this speed.
const ALLOWANCE_MS = 1_000;
const INSTANCE = fileURLToPath(new URL("instance.mjs", import.meta.url));
const table = "locks";

const server = await startMemoryServer();
const local = { AWS_REGION: "local", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };
Object.assign(process.env, local, { AWS_ENDPOINT_URL_DYNAMODB: server.endpoint });
const client = new DynamoDBClient({});
await createTable({ client, table });

const startMs = Number(process.hrtime.bigint()) / 1e6;
const told = [];
const say = (atMs, text) =>
  console.log(`${((atMs - startMs) / 1000).toFixed(2).padStart(6)} s  ${text}`);
const now = () => Number(process.hrtime.bigint()) / 1e6;

async function instance(name) {
  const proxy = await startFaultProxy({ target: server.endpoint });
  const env = { ...process.env, AWS_ENDPOINT_URL_DYNAMODB: proxy.endpoint, HOLDFAST_TABLE: table };
  const child = fork(INSTANCE, [name, `${FAILOVER_MS}ms`], { env });
  child.on("message", (message) => {
    told.push(message);
    if (message.what !== "act") say(message.atMs, `${message.name} ${message.what}`);
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  return { name, proxy, child, exited };
}

async function until(isSo, what) {
  for (const untilMs = now() + 30_000; !isSo(); ) {
    if (now() > untilMs) throw new Error(`It never came to this: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const acts = () => told.filter(({ what }) => what === "act");
const elections = () => told.filter(({ what }) => what === "elected");
const leaderOf = (count) => all.find(({ name }) => name === elections()[count - 1].name);

/** Waits for the so-many-th leader, and until it has done some work. */
async function led(count) {
  await until(() => elections().length >= count, `leader number ${count}`);
  const { term } = elections()[count - 1];
  await until(() => acts().filter((act) => act.term === term).length > 20, "it works");
  return leaderOf(count);
}

const all = await Promise.all(["a", "b", "c"].map(instance));
try {
  const first = await led(1);
  say(now(), `${first.name} is killed`);
  first.child.kill("SIGKILL");

  const second = await led(2);
  say(now(), `${second.name} is stopped`);
  second.child.kill("SIGSTOP");

  const third = await led(3);
  say(now(), `${second.name} goes on`);
  second.child.kill("SIGCONT");
  await until(
    () => told.some(({ what, name }) => what === "lost" && name === second.name),
    "it learns",
  );
  say(now(), `${third.name} is cut off from the table`);
  third.proxy.partition();

  await led(4);
  third.proxy.heal();
  for (const { child } of [second, third]) child.kill("SIGTERM");
  await Promise.all(all.map(({ exited }) => exited));
} finally {
  for (const { child, proxy } of all) {
    child.kill("SIGKILL");
    await proxy.close();
  }
  client.destroy();
  await server.close();
}

const terms = elections().map(({ term }) => term);
const ofTerm = (term) => acts().filter((act) => act.term === term);
const gaps = terms.slice(1).map((term, at) => {
  const lastMs = Math.max(...ofTerm(terms[at]).map(({ atMs }) => atMs));
  return Math.round(Math.min(...ofTerm(term).map(({ atMs }) => atMs)) - lastMs);
});
const steps = acts().map(({ name, tick, step }) => `${name} ${tick} ${step}`);
const isRising = terms.every((term, at) => at === 0 || BigInt(term) > BigInt(terms[at - 1]));
const checks = [
  ["terms only rise", isRising],
  ["no step of a term after the first one of a later term", gaps.every((ms) => ms > 0)],
  ["no step was made twice", new Set(steps).size === steps.length],
  [
    `no gap longer than ${FAILOVER_MS} ms and ${ALLOWANCE_MS}`,
    gaps.every((ms) => ms < FAILOVER_MS + ALLOWANCE_MS),
  ],
];
console.log(`${acts().length} steps in ${terms.length} terms; gaps of ${gaps.join(", ")} ms`);
for (const [what, holds] of checks) console.log(`${holds ? "ok    " : "BROKEN"} ${what}`);
process.exitCode = checks.every(([, holds]) => holds) ? 0 : 1;
