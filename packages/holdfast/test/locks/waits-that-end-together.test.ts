import { describe, expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { fairLock, type Holdfast, mutex, semaphore } from "../../src/index.js";

const WAYS = {
  mutex: (locks: Holdfast) => mutex(locks, "a"),
  fairLock: (locks: Holdfast) => fairLock(locks, "a"),
  semaphore: (locks: Holdfast) => semaphore(locks, "b", { permits: 1 }),
};

describe.each(Object.entries(WAYS))("waits of one process for a held %s", (_, lockOf) => {
  // A request and its answer take 10 ms: the first request of a later waiter is cut off.
  it.each([0, 4])("that end %i ms apart blame the holder, and not the table", async (apartMs) => {
    const world = new World();
    const holder = world.inhabitant();
    const { locks, reported } = world.inhabitant();
    await world.until(lockOf(holder.locks).acquire());

    const calls = [0, 1, 2].map((at) =>
      lockOf(locks).acquire({ wait: `${2_000 + at * apartMs}ms` }),
    );

    const ended = await world.until(Promise.allSettled(calls));
    const rejected = { status: "rejected", reason: { code: "not-acquired" } };
    expect(ended).toMatchObject([rejected, rejected, rejected]);
    expect(reported).toEqual([]);
  });

  it("that end after the table fell silent blame the table", async () => {
    const world = new World();
    const holder = world.inhabitant();
    const { locks, network } = world.inhabitant({ requestTimeout: "300ms" });
    await world.until(lockOf(holder.locks).acquire());
    const calls = [0, 1].map(() => lockOf(locks).acquire({ wait: "5s" }));
    const ended = Promise.allSettled(calls);
    await world.time.advance(1_000);
    network.script(() => ({ fault: "request-lost" }));

    const rejected = { status: "rejected", reason: { code: "unreachable" } };
    expect(await world.until(ended)).toMatchObject([rejected, rejected]);
  });
});
