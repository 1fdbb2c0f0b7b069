import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, describe, expect, it } from "vitest";
import { inWorld } from "../../../../test/support/world.js";
import { type GrantEvent, LEASE_CHANNELS } from "../../src/core/events.js";
import { downgrade, readLock, semaphore, writeLock } from "../../src/index.js";

const seen: [string, GrantEvent][] = [];
const listeners = [LEASE_CHANNELS.grant, LEASE_CHANNELS.release, LEASE_CHANNELS.refusal].map(
  (channel) => [channel, (event: unknown) => seen.push([channel, event as GrantEvent])] as const,
);
afterEach(() => {
  for (const [channel, listener] of listeners) unsubscribe(channel, listener);
});

describe("the events of permits", () => {
  it("have the kind of the record, the holder and the fence of the permit", async () => {
    for (const [channel, listener] of listeners) subscribe(channel, listener);
    const { world, locks } = inWorld({ owner: "ada" });
    const limited = semaphore(locks, "s", { permits: 1 });
    const permit = await world.until(limited.acquire());
    await world.until(limited.tryAcquire());
    const reader = await world.until(readLock(locks, "rw").acquire());
    await world.until(permit.release());
    const of = { kind: "semaphore", name: "s", owner: "ada" };
    const { holder, fence } = permit;
    // The session of the permits has events of its own.
    const ofPermits = seen.filter(([, { kind }]) => kind !== "session");
    expect(ofPermits).toMatchObject([
      [LEASE_CHANNELS.grant, { ...of, holder, fence, how: "claim", leaseMs: 30_000 }],
      [LEASE_CHANNELS.refusal, { ...of, code: "not-acquired" }],
      [LEASE_CHANNELS.grant, { kind: "read-write", name: "rw", holder: reader.holder }],
      [LEASE_CHANNELS.release, { ...of, holder, fence }],
    ]);
  });

  it("tell of the permit of a writer that becomes a reader", async () => {
    seen.length = 0;
    for (const [channel, listener] of listeners) subscribe(channel, listener);
    const { world, locks } = inWorld();
    const writer = await world.until(writeLock(locks, "rw").acquire());
    const reader = await world.until(downgrade(writer));
    await world.until(reader.release());
    const { grant, release } = LEASE_CHANNELS;
    expect(seen.filter(([, { kind }]) => kind !== "session")).toMatchObject([
      [grant, { holder: writer.holder, how: "claim" }],
      [release, { holder: writer.holder }],
      [grant, { holder: reader.holder, how: "hand-over" }],
      [release, { holder: reader.holder }],
    ]);
  });
});
