import { expect, it } from "vitest";
import { inWorld } from "../../../../../test/support/world.js";
import { exportLease, HoldfastError, mutex } from "../../../src/index.js";

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
