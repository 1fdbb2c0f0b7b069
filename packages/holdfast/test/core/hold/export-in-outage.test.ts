import { expect, it } from "vitest";
import { inWorld, World } from "../../../../../test/support/world.js";
import { exportLease, HoldfastError, mutex } from "../../../src/index.js";

it("an export of a long lease tells of an outage while it waits", async () => {
  const world = new World();
  const a = world.inhabitant();
  const lease = await world.until(mutex(a.locks, "m").acquire({ lease: "1h" }));
  a.network.script(() => ({ fault: "request-lost" }));
  const ended = expect(exportLease(lease)).rejects.toMatchObject({ code: "outcome-unknown" });
  await world.time.advance(60_000);
  expect(a.reported.map(({ code }) => code)).toEqual(["unreachable"]);
  await world.time.advance(1_800_000);
  await ended;
});

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

const denied = () =>
  ({
    fault: "misconfigured",
    error: new HoldfastError("access-denied", "The credentials have expired."),
  }) as const;

it("an abandoned claim is undone when the permission is denied for two seconds", async () => {
  const { world, locks, network } = inWorld({ lease: "60s" });
  const rival = world.inhabitant({ lease: "60s" });
  network.script(({ kind }) => (kind === "write" ? { fault: "response-lost" } : undefined));
  const given = new AbortController();
  const call = mutex(locks, "a").acquire({ signal: given.signal });
  call.catch(() => undefined);
  await world.time.advance(50);
  expect(world.record("a")?.["holder"]).toBeDefined();
  network.script(denied);
  given.abort(new Error("given up"));
  await world.time.advance(2_000);
  network.clear();
  await world.time.advance(10_000);
  expect(await world.until(mutex(rival.locks, "a").tryAcquire())).not.toBeNull();
});

it("an export that was denied to its end is undone when the permission is denied for two seconds more", async () => {
  const { world, locks, network } = inWorld({ lease: "60s" });
  const rival = world.inhabitant({ lease: "60s" });
  const lease = await world.until(mutex(locks, "a").acquire());
  network.script(denied);
  const error = await world.until(exportLease(lease).catch((one: unknown) => one));
  expect(error).toMatchObject({ code: "access-denied" });
  await world.time.advance(2_000);
  network.clear();
  await world.time.advance(10_000);
  expect(await world.until(mutex(rival.locks, "a").tryAcquire())).not.toBeNull();
});
