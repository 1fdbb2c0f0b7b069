// On a runtime whose boot clock counts whole seconds: short leases are refused, and longer leases are held.
import assert from "node:assert/strict";
import { uptime } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryTable } from "@holdfast/testing";
import { Holdfast, isHoldfastError, mutex } from "holdfast";

const readings = [];
for (let times = 0; times < 5; times += 1) {
  readings.push(uptime());
  await sleep(30);
}
assert.ok(
  readings.every(Number.isInteger),
  `The boot clock here is finer than the documents say: ${readings.join(", ")}`,
);

const locks = new Holdfast({ client: new MemoryTable(), table: "locks" });
const refused = mutex(locks, "a").acquire({ lease: "1s" });
await assert.rejects(refused, (error) => isHoldfastError(error, "invalid-argument"));
const lease = await mutex(locks, "a").acquire({ lease: "5s" });
await sleep(6_500);
assert.equal(lease.isHeld, true);
assert.ok(lease.remainingMs() < 5_000 * 0.98 - 1_000);
await locks.close();
console.log(`The boot clock counts whole seconds: ${readings.join(", ")}`);
