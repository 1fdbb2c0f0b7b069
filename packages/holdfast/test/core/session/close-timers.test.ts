import { expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { mutex, semaphore, sharedSession } from "../../../src/index.js";

it.each([true, false])(
  "a closed client leaves no timer after its session was unused (shared: %s)",
  async (shared) => {
    const world = new World();
    const { locks, process } = world.inhabitant({
      lease: "60s",
      ...(shared ? { sharedSession: sharedSession() } : {}),
    });
    await world.until(semaphore(locks, "s", { permits: 1 }).run(() => undefined));
    await world.until(mutex(locks, "a").run(() => undefined));
    await world.until(locks.close());
    await world.time.advance(100);
    expect(process.pendingTimers()).toBe(0);
  },
);
