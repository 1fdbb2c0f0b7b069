import { expect, it } from "vitest";
import { inWorld } from "../../../../../test/support/world.js";
import { exportLease, HoldfastError, mutex } from "../../../src/index.js";

const EXPIRED = new HoldfastError("access-denied", "The credentials have expired.");

it("a lease is not lost by an export that is refused", async () => {
  const { world, locks } = inWorld({ lease: "30s", process: { bootStepMs: 1_000 } });
  const lease = await world.until(mutex(locks, "a").acquire());
  const error = await world.until(
    exportLease(lease, { lease: "500ms" }).catch((one: unknown) => one),
  );
  expect(error).toMatchObject({ code: "invalid-argument" });
  expect(lease.isHeld).toBe(true);
});

it("an export outlives refused credentials, and tells once", async () => {
  const { world, locks, network, reported } = inWorld({ lease: "10m" });
  const lease = await world.until(mutex(locks, "a").acquire());
  network.script(() => ({ fault: "misconfigured", error: EXPIRED }));
  const exporting = exportLease(lease);
  await world.time.advance(2_000);
  network.clear();
  const { holder } = await world.until(exporting);
  expect(world.record("a")?.["holder"]).toEqual({ S: holder });
  expect(reported).toMatchObject([{ code: "access-denied" }]);
});

it("an export rejects with a refusal that lasts for half of the reservation, and frees the lock", async () => {
  const { world, locks, network } = inWorld({ lease: "10s" });
  const lease = await world.until(mutex(locks, "a").acquire());
  network.script(() => ({ fault: "misconfigured", error: EXPIRED }));
  await expect(world.until(exportLease(lease))).rejects.toMatchObject({
    code: "access-denied",
    cause: EXPIRED,
    message: expect.stringContaining(EXPIRED.message),
  });
  network.clear();
  await world.time.advance(2_000);
  expect(world.record("a")?.["holder"]).toBeUndefined();
});
