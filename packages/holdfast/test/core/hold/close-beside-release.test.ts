import { expect, it } from "vitest";
import { inWorld, World } from "../../../../../test/support/world.js";
import { coalesce } from "../../../src/coalesce/index.js";
import { fairLock, mutex } from "../../../src/index.js";
import { keepFor } from "../../../src/keep/index.js";

const LONG = { lease: "1h", renew: "30m" } as const;

it.each([
  ["plain", {}],
  ["kept", { keep: keepFor("1s") }],
])("close() tells of a release that has begun and is not acknowledged: %s", async (_, options) => {
  const { world, locks, network } = inWorld(LONG);
  const lease = await world.until(mutex(locks, "a", options).acquire());
  network.script(() => ({ fault: "request-lost" }));
  const released = lease.release().catch(() => undefined);
  await world.time.advance(1_500);
  await expect(world.until(locks.close())).rejects.toMatchObject({
    code: "outcome-unknown",
    message: expect.stringContaining('the release of 1 of its 1 locks: "a"'),
    errors: [expect.objectContaining({ code: "outcome-unknown", lockName: "a" })],
  });
  network.clear();
  await world.until(released);
});

it("close() tells of the release of a coalesced run that is not acknowledged", async () => {
  const { world, locks, network } = inWorld(LONG);
  const ran = coalesce(locks, "a", () => network.script(() => ({ fault: "request-lost" })));
  await world.time.advance(1_500);
  await expect(world.until(locks.close())).rejects.toMatchObject({
    errors: [expect.objectContaining({ code: "outcome-unknown", lockName: "a" })],
  });
  network.clear();
  await world.until(ran);
});

it("close() tells of no release that was acknowledged, and of no place in a queue", async () => {
  const world = new World();
  const [mine, rival] = [world.inhabitant(LONG), world.inhabitant(LONG)];
  const held = await world.until(fairLock(rival.locks, "b").acquire());
  const lease = await world.until(mutex(mine.locks, "a").acquire());
  const waiting = fairLock(mine.locks, "b").acquire({ wait: "20s" });
  const gaveUp = expect(waiting).rejects.toMatchObject({ lockName: "b" });
  await world.time.advance(15_000);
  await world.until(lease.release());
  mine.network.script(() => ({ fault: "request-lost" }));
  await world.time.advance(6_000);
  await gaveUp;
  await world.until(mine.locks.close());
  await world.until(held.release());
});

it("close() does not tell again of a release that has rejected", async () => {
  const { world, locks, network } = inWorld(LONG);
  const lease = await world.until(mutex(locks, "a").acquire());
  network.script(() => ({ fault: "request-lost" }));
  await expect(world.until(lease.release())).rejects.toMatchObject({ code: "outcome-unknown" });
  await world.until(locks.close());
});

it("close() does not tell again of the release of a coalesced run that `onError` was told of", async () => {
  const { world, locks, network, reported } = inWorld(LONG);
  const ran = coalesce(locks, "a", () => network.script(() => ({ fault: "request-lost" })));
  await world.until(ran);
  expect(reported).toMatchObject([{ code: "outcome-unknown", lockName: "a" }]);
  await world.until(locks.close());
});
