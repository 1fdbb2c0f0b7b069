import { expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { adoptLease, exportLease, mutex } from "../../src/index.js";

it("adopts a transfer whose lease is shorter than the client's own period of renewals", async () => {
  const world = new World();
  const a = world.inhabitant({ lease: "5s" });
  const b = world.inhabitant({ lease: "60s", renew: "20s" });
  const lease = await world.until(mutex(a.locks, "m").acquire());
  const handle = await world.until(exportLease(lease));
  const adopted = await world.until(Promise.resolve().then(() => adoptLease(b.locks, handle)));
  expect(adopted.leaseMs).toBe(5_000);
  await world.time.advance(60_000);
  expect(adopted.isHeld).toBe(true);
  await world.until(adopted.release());
});
