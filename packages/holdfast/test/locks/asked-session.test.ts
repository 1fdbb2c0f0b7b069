import { expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { keyOf } from "../../../testing/src/faults/fault-plan.js";
import { HoldfastError, mutex, openSession } from "../../src/index.js";
import { announce, interrupt } from "../../src/requests/index.js";

it("a refused note to the session of a holder is told once, and sent again after growing pauses", async () => {
  const world = new World();
  const told: string[] = [];
  const holder = world.inhabitant();
  const waiter = world.inhabitant({ lease: "10s", onError: ({ code }) => void told.push(code) });
  const session = await world.until(openSession(holder.locks));
  await world.until(mutex(holder.locks, "x", { session }).acquire());
  // Its renewals are served meanwhile.
  await world.until(mutex(waiter.locks, "other").acquire());
  await world.time.advance(15_000);
  const error = new HoldfastError("access-denied", "No permission for sessions.");
  const sentMs: number[] = [];
  waiter.network.script((request) => {
    const isOfSession = JSON.stringify(keyOf(request) ?? {}).includes("session#");
    if (request.kind !== "write" || !isOfSession) return undefined;
    sentMs.push(world.time.nowMs);
    return { fault: "misconfigured", error };
  });
  mutex(waiter.locks, "x", { ifHeld: announce })
    .acquire({ wait: "10m" })
    .catch(() => undefined);
  await world.time.advance(300_000);
  expect(told).toEqual(["access-denied"]);
  expect(sentMs.length).toBeLessThan(100);
  expect((sentMs[1] ?? 0) - (sentMs[0] ?? 0)).toBeGreaterThan(50);
});

it.each([announce, interrupt])(
  "a waiter that cannot tell the holder's session ($kind) gets the lock after its release",
  async (ifHeld) => {
    const world = new World();
    const holder = world.inhabitant();
    const waiter = world.inhabitant();
    const session = await world.until(openSession(holder.locks));
    const held = await world.until(mutex(holder.locks, "x", { session }).acquire());
    await world.time.advance(15_000);
    waiter.network.script((request) =>
      request.kind === "write" && JSON.stringify(keyOf(request)).includes("session#")
        ? { fault: "throttled" }
        : undefined,
    );
    const waiting = mutex(waiter.locks, "x", { ifHeld }).acquire({ wait: "10m" });
    await world.time.advance(5_000);
    await world.until(held.release());
    const fromMs = world.time.nowMs;
    expect((await world.until(waiting, 700_000)).isHeld).toBe(true);
    expect(world.time.nowMs - fromMs).toBeLessThan(10_000);
  },
);
