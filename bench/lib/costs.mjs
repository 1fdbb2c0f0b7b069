// Counts what a free lock costs besides its requests: readings of the clocks, timers, draws of random bytes. Prints the
// counts of many cycles, each an acquire and a release, as JSON. A process of its own, which replaces what Node.js offers
// before the library is loaded: node bench/lib/costs.mjs
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";

const CYCLES = 256;
// The caller is near.
Error.stackTraceLimit = 8;
const LIBRARY = new URL("../../packages/holdfast/dist/", import.meta.url);

const counts = {};
let isCounting = false;

/** Whether the library has made the call, and not the SDK. */
function isOurs(stack) {
  // The first line is the message, and the second one this file. Node's own frames are not the caller.
  const caller = stack
    .split("\n")
    .slice(2)
    .find((line) => line.includes("file:") || line.includes("node_modules"));
  return caller?.includes(LIBRARY.href) === true;
}

/** Counts the library's calls of a function. */
function count(owner, name, as) {
  counts[as] = 0;
  const original = owner[name];
  owner[name] = Object.assign(function counted(...given) {
    if (isCounting && isOurs(new Error().stack)) counts[as] += 1;
    return original.apply(this, given);
  }, original);
}

count(os, "uptime", "bootClock");
count(performance, "now", "monotonicClock");
count(Date, "now", "wallClock");
count(globalThis, "setTimeout", "timers");
count(crypto, "randomBytes", "randomBytes");
syncBuiltinESMExports();

const { Holdfast, mutex } = await import("../../packages/holdfast/dist/index.js");
const { createTable } = await import("../../packages/holdfast/dist/table/index.js");
const { MemoryDynamoDB, memoryClient } = await import("../../packages/testing/dist/index.js");

const wallMs = () => Date.now();
const client = memoryClient(new MemoryDynamoDB({ nowMs: wallMs }), { wallMs });
await createTable({ client, table: "locks" });
const locks = new Holdfast({ client, table: "locks" });

async function cycles(number) {
  for (let at = 0; at < number; at += 1) await (await mutex(locks, "a").acquire()).release();
}

// The first answers show the table's time.
await cycles(2);
isCounting = true;
const fromMs = performance.now();
await cycles(CYCLES);
isCounting = false;
const seconds = (performance.now() - fromMs) / 1_000;
await locks.close();

const { randomBytes, ...others } = counts;
const perCycle = Object.entries(others).map(([name, number]) => [name, number / CYCLES]);
console.log(
  JSON.stringify({ cycles: CYCLES, seconds, perCycle: Object.fromEntries(perCycle), randomBytes }),
);
