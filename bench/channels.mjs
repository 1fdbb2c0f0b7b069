// The cost of diagnostics: node bench/channels.mjs. Locks are taken and freed on a table in memory, so that only
// the work of this process is measured.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { built } from "../scripts/lib/ready.mjs";
import { loadSource } from "../scripts/lib/source.mjs";

await built();
const { LEASE_CHANNELS } = await import("../packages/holdfast/dist/events/index.js");
const { Holdfast, mutex } = await import("../packages/holdfast/dist/index.js");
const { startTelemetry } = await import("../packages/holdfast/dist/telemetry/index.js");
const { MemoryTable } = await import("../packages/testing/dist/index.js");

const { publish } = await loadSource("holdfast/src/platform/diagnostics");

const LOCKS = 5_000;
const ROUNDS = 7;
const CALLS = 5_000_000;

class SilentReader extends MetricReader {
  async onForceFlush() {}
  async onShutdown() {}
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

function nanosecondsOfOneCall() {
  let never = 0;
  const fromMs = performance.now();
  for (let call = 0; call < CALLS; call += 1) publish("holdfast:none", () => ({ call: never++ }));
  if (never !== 0) throw new Error("A message was created without a subscriber.");
  return ((performance.now() - fromMs) * 1e6) / CALLS;
}

async function microsecondsOfOneLock() {
  const table = new MemoryTable({ keyAttributes: ["pk", "sk"], keepsLog: false });
  const locks = new Holdfast({ client: table, table: "locks" });
  const one = mutex(locks, "a");
  const fromMs = performance.now();
  for (let lock = 0; lock < LOCKS; lock += 1) await (await one.acquire()).release();
  const tookMs = performance.now() - fromMs;
  await locks.close();
  return (tookMs * 1e3) / LOCKS;
}

function withListeners() {
  const listener = () => undefined;
  const channels = Object.values(LEASE_CHANNELS);
  for (const channel of channels) subscribe(channel, listener);
  return () => {
    for (const channel of channels) unsubscribe(channel, listener);
  };
}

function withMetrics() {
  const provider = new MeterProvider({ readers: [new SilentReader()] });
  const telemetry = startTelemetry({ meter: provider.getMeter("bench"), tracer: false });
  return () => telemetry.stop();
}

const WAYS = {
  none: () => () => undefined,
  "an empty listener": withListeners,
  metrics: withMetrics,
};
const took = Object.fromEntries(Object.keys(WAYS).map((way) => [way, []]));

await microsecondsOfOneLock();
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [way, begin] of Object.entries(WAYS)) {
    const end = begin();
    took[way].push(await microsecondsOfOneLock());
    end();
  }
}
nanosecondsOfOneCall();
console.log(`no subscriber: ${nanosecondsOfOneCall().toFixed(1)} ns a call`);
for (const [way, values] of Object.entries(took)) {
  console.log(`a lock taken and freed, subscribers: ${way}: ${median(values).toFixed(1)} µs`);
}
