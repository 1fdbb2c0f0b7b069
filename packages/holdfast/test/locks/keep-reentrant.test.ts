import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, it } from "vitest";
import { inWorld } from "../../../../test/support/world.js";
import { LEASE_CHANNELS } from "../../src/events/index.js";
import { type Lease, mutex } from "../../src/index.js";
import { keepFor } from "../../src/keep/index.js";

const KEEP = { keep: keepFor("5s"), reentrant: true } as const;

describe("a kept lock that is reentrant", () => {
  // As after work of 20 ms without an await: the release waits for the event loop.
  it("has one holder when a call comes while a release waits for the event loop", async () => {
    const { world, locks, process } = inWorld({ lease: "30s" });
    const lock = mutex(locks, "a", KEEP);
    await (await world.until(lock.acquire())).release();
    const first = await lock.acquire();
    process.pause();
    await world.time.advance(30);
    const calls = Promise.resolve().then(() => {
      void first.release();
      return lock.acquire();
    });
    process.resume({ first: "io" });
    const second = await world.until(calls);
    await world.time.advance(100);
    const third = await world.until(mutex(locks, "a", { keep: KEEP.keep }).tryAcquire());
    // Two bodies would now run: no signal says that the second has no lock.
    expect([second.isHeld, second.signal.aborted, third]).toEqual([true, false, null]);
    await world.until(locks.close());
  });

  it("has one holder when a call comes right after a release that gives the lease back", async () => {
    const { world, locks } = inWorld({ lease: "30s" });
    const rival = world.inhabitant({ lease: "30s" });
    const lock = mutex(locks, "a", KEEP);
    const first = await world.until(lock.acquire());
    // The first release is late: the lease has been kept for its whole length.
    await first.release();
    const use = await lock.acquire();
    await world.time.advance(6_000);
    const released = use.release();
    const second: Lease = await world.until(lock.acquire());
    await world.until(released);
    const third = await world.until(mutex(rival.locks, "a").tryAcquire());
    expect([second.isHeld, second.signal.aborted, third]).toEqual([true, false, null]);
    await world.until(locks.close());
  });

  it("is held by a call that the event of its release sets off", async () => {
    const { world, locks } = inWorld({ lease: "30s" });
    const lock = mutex(locks, "a", KEEP);
    const first = await world.until(lock.acquire());
    let called: Promise<Lease> | undefined;
    const onRelease = (): void => {
      called ??= lock.acquire();
    };
    subscribe(LEASE_CHANNELS.release, onRelease);
    await world.until(first.release());
    unsubscribe(LEASE_CHANNELS.release, onRelease);
    const second = await world.until(called ?? Promise.reject());
    expect(second.isHeld).toBe(true);
    await world.until(locks.close());
  });
});
