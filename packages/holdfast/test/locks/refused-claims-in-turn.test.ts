import { expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { fairLock, HoldfastError } from "../../src/index.js";

it.each([
  ["throttled", { fault: "throttled" }],
  ["silent", { fault: "request-lost" }],
  ["denied", { fault: "misconfigured", error: new HoldfastError("access-denied", "no") }],
] as const)("a first waiter keeps its place if only its claims fail: %s", async (_, fault) => {
  const world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
  const [a, b, c] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
  const lock = { lease: "10s", onPlaceExpired: "fail" } as const;
  const holder = await world.until(fairLock(c.locks, "k", lock).acquire());
  const order: string[] = [];
  const take = async (who: typeof a, name: string) => {
    const lease = await fairLock(who.locks, "k", lock).acquire({ wait: "1h" });
    order.push(name);
    await lease.release();
  };
  const first = take(a, "a");
  await world.time.advance(1_000);
  a.network.script((request) =>
    request.kind === "write" && JSON.stringify(request.write).includes('"served"')
      ? fault
      : undefined,
  );
  await world.until(holder.release());
  await world.time.advance(15_000);
  a.network.clear();
  await world.until(Promise.all([first, take(b, "b")]));
  expect(order).toEqual(["a", "b"]);
});
