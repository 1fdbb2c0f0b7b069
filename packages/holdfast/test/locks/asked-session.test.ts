import { expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { keyOf } from "../../../testing/src/faults/fault-plan.js";
import { mutex, openSession } from "../../src/index.js";
import { announce, interrupt } from "../../src/requests/index.js";

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
