import { describe, expect, it } from "vitest";
import { entriesIn, FOR_EVER, NAME } from "../../../../../test/support/queue.js";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import { fairLock, type Lease, openSession, sharedSession } from "../../../src/index.js";
import type { Item } from "../../../src/platform/table.js";

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.unreachable("the promise resolved"),
    (error: unknown) => error,
  );

const isEntry = ({ sk }: Item): boolean =>
  sk !== undefined && "S" in sk && sk.S.startsWith("ticket/");

/** Waits for the fair lock in a process, and notes the call's name when it holds the lock. */
function call(of: Inhabitant, name: string, granted: string[], options: object = {}) {
  const waiting = fairLock(of.locks, NAME).acquire({ wait: FOR_EVER, ...options });
  return waiting.then((lease) => {
    granted.push(name);
    return lease;
  });
}

/** A holder in one process, and calls of another process that wait. */
async function crowd(names: readonly string[], options: object = {}) {
  const world = new World();
  const holder = world.inhabitant();
  const held = await world.until(fairLock(holder.locks, NAME).acquire());
  const process = world.inhabitant();
  const granted: string[] = [];
  const calls = names.map((name) => call(process, name, granted, options));
  await world.time.advance(2_000);
  return { world, holder, held, process, granted, calls };
}

async function releaseEach(world: World, calls: readonly Promise<Lease>[]): Promise<void> {
  for (const one of calls) await world.until((await world.until(one)).release());
}

describe("the waiters of one process", () => {
  it("get the lock in the order of their calls, at one request each", async () => {
    const world = new World();
    const process = world.inhabitant();
    const lock = fairLock(process.locks, NAME);
    const held = await world.until(lock.acquire());
    const granted: string[] = [];
    const calls = ["1", "2", "3", "4", "5"].map((name) => call(process, name, granted));
    await world.time.advance(100);
    world.table.resetCounts();
    await world.until(held.release());
    await releaseEach(world, calls);
    expect(granted).toEqual(["1", "2", "3", "4", "5"]);
    // Five hand-offs and the last release.
    expect(world.table.counts).toMatchObject({ writes: 6, eventualReads: 0, queries: 0 });
    expect(entriesIn(world)).toEqual([]);
  });

  it("share a place with a ticket for each, and get the lock one after the other at their turn", async () => {
    const { world, held, process, granted, calls } = await crowd(["1"]);
    for (const name of ["2", "3", "4"]) calls.push(call(process, name, granted));
    const other = world.inhabitant();
    const rival = call(other, "rival", granted);
    await world.time.advance(2_000);
    expect(entriesIn(world)).toHaveLength(2);
    await world.until(held.release());
    // The first call has its ticket from before; the others have drawn theirs behind the rival.
    await world.until((await world.until(calls[0] as Promise<Lease>)).release());
    await world.until((await world.until(rival)).release());
    await world.time.advance(2_000);
    const late = call(other, "late", granted);
    await world.time.advance(2_000);
    // "2" holds the lock. The entry still stands for "3" and "4": the rival must not pass them if "2" dies.
    expect(entriesIn(world)).toHaveLength(2);
    await releaseEach(world, calls.slice(1));
    await world.until((await world.until(late)).release());
    expect(granted).toEqual(["1", "rival", "2", "3", "4", "late"]);
    await world.time.advance(1_000);
    expect(entriesIn(world)).toEqual([]);
    const record = world.record(NAME);
    expect(record?.["served"]).toEqual(record?.["tail"]);
  });

  it("do not pass a waiter of another process without a ticket before it", async () => {
    const world = new World();
    const process = world.inhabitant();
    const held = await world.until(fairLock(process.locks, NAME).acquire());
    const granted: string[] = [];
    const rival = call(world.inhabitant(), "rival", granted);
    await world.time.advance(2_000);
    const own = call(process, "own", granted);
    await world.time.advance(1_000);
    await world.until(held.release());
    await world.until((await world.until(rival)).release());
    await world.until(own);
    expect(granted).toEqual(["rival", "own"]);
  });

  it("are offered no hand-off past a waiter that the holder has seen", async () => {
    const world = new World();
    const process = world.inhabitant();
    const held = await world.until(fairLock(process.locks, NAME).acquire());
    const granted: string[] = [];
    const rival = call(world.inhabitant(), "rival", granted);
    await world.time.advance(2_000);
    const own = call(process, "own", granted);
    // A renewal shows the rival.
    await world.time.advance(30_000);
    expect(await world.requests(() => held.release())).toMatchObject({ writes: 1 });
    await releaseEach(world, [rival, own]);
    expect(granted).toEqual(["rival", "own"]);
  });

  it("count no hand-off by a ticket among those that pass other processes", async () => {
    const world = new World();
    const held = await world.until(fairLock(world.inhabitant().locks, NAME).acquire());
    const process = world.inhabitant({ maxLocalHandoffs: 1 });
    const granted: string[] = [];
    const calls = ["1", "2", "3"].map((name) => call(process, name, granted));
    await world.time.advance(2_000);
    await world.until(held.release());
    const first = await world.until(calls[0] as Promise<Lease>);
    const late = call(process, "late", granted);
    await world.until(first.release());
    await releaseEach(world, calls.slice(1, 2));
    const third = await world.until(calls[2] as Promise<Lease>);
    expect(await world.requests(() => third.release())).toMatchObject({ writes: 1 });
    const before = world.table.counts.writes;
    expect((await world.until(late)).isHeld).toBe(true);
    expect(world.table.counts.writes - before).toBe(0);
  });

  it("lose one ticket, and not all, when a hand-off to one of them is not answered", async () => {
    const { world, held, process, granted, calls } = await crowd(["1"]);
    for (const name of ["2", "3", "4"]) calls.push(call(process, name, granted));
    const other = world.inhabitant();
    const rival = call(other, "rival", granted);
    await world.time.advance(2_000);
    await world.until(held.release());
    await world.until((await world.until(calls[0] as Promise<Lease>)).release());
    await world.until((await world.until(rival)).release());
    const second = await world.until(calls[1] as Promise<Lease>);
    const late = call(other, "late", granted);
    await world.time.advance(2_000);
    process.network.script((request) =>
      request.kind === "write" && request.write.change.set["holder"] !== undefined
        ? { fault: "request-lost", unknownAfterMs: 10 }
        : undefined,
    );
    expect(await world.until(rejection(second.release()))).toMatchObject({
      code: "outcome-unknown",
    });
    await world.time.advance(30_000);
    process.network.script(undefined);
    await releaseEach(world, [calls[2] as Promise<Lease>, late, calls[3] as Promise<Lease>]);
    expect(granted).toEqual(["1", "rival", "2", "3", "late", "4"]);
  });

  it("keep the place when the first of them gives up", async () => {
    const { world, held, granted, calls, process } = await crowd(["first"], { wait: "20s" });
    const gaveUp = rejection(calls[0] as Promise<Lease>);
    const next = call(process, "next", granted);
    const rival = call(world.inhabitant(), "rival", granted);
    await world.time.advance(20_000);
    expect(await world.until(gaveUp)).toMatchObject({ code: "not-acquired" });
    await world.until(held.release());
    await world.until((await world.until(next)).release());
    await world.until(rival);
    expect(granted).toEqual(["next", "rival"]);
  });

  it("leave no ticket behind when the last of them give up", async () => {
    const { world, held, process, granted, calls } = await crowd(["1"]);
    calls.push(call(process, "2", granted, { wait: "300s" }));
    const leaving = [
      call(process, "3", granted, { wait: "3s" }),
      call(process, "4", granted, { wait: "3s" }),
    ].map((one) => rejection(one));
    await world.until(held.release());
    const first = await world.until(calls[0] as Promise<Lease>);
    const rival = call(world.inhabitant(), "rival", granted);
    await world.time.advance(1_000);
    await world.until(first.release());
    await world.until((await world.until(rival)).release());
    const second = await world.until(calls[1] as Promise<Lease>);
    for (const one of leaving) {
      expect(await world.until(one)).toMatchObject({ code: "not-acquired" });
    }
    await world.until(second.release());
    await world.time.advance(1_000);
    expect(entriesIn(world)).toEqual([]);
    const next = fairLock(world.inhabitant().locks, NAME);
    const again = await world.requests(() => next.acquire());
    expect(again).toMatchObject({ writes: 1, reads: 0 });
  });

  it("lose their tickets with the place after a pause, and join again at the back, or fail", async () => {
    const { world, held, process, granted, calls } = await crowd(["1"]);
    const rival = call(world.inhabitant(), "rival", granted);
    await world.time.advance(1_000);
    calls.push(call(process, "2", granted));
    const failing = rejection(call(process, "fails", granted, { onPlaceExpired: "fail" }));
    calls.push(call(process, "3", granted));
    await world.until(held.release());
    await world.until((await world.until(calls[0] as Promise<Lease>)).release());
    const rivals = await world.until(rival);
    await world.time.advance(2_000);
    const behind = call(world.inhabitant(), "behind", granted);
    await world.time.advance(2_000);
    expect(entriesIn(world)).toHaveLength(2);
    process.process.pause();
    await world.time.advance(120_000);
    process.process.resume();
    expect(await world.until(failing)).toMatchObject({ code: "not-acquired" });
    await world.time.advance(2_000);
    await world.until(rivals.release());
    await world.until((await world.until(behind)).release());
    await releaseEach(world, calls.slice(1));
    expect(granted).toEqual(["1", "rival", "behind", "2", "3"]);
  });

  // rule: protocol 72
  it("do not get the lock by tickets of a place that expired while the process held the lock", async () => {
    const world = new World();
    const holder = world.inhabitant();
    const held = await world.until(fairLock(holder.locks, NAME).acquire());
    const process = world.inhabitant();
    const granted: string[] = [];
    const first = call(process, "1", granted);
    const failing = rejection(call(process, "fails", granted, { onPlaceExpired: "fail" }));
    const last = call(process, "3", granted);
    await world.time.advance(2_000);
    const behind = call(world.inhabitant(), "behind", granted);
    await world.time.advance(2_000);
    await world.until(held.release());
    const own = await world.until(first);
    // The place is in another partition of the table than the lock.
    process.network.script((request) =>
      request.kind === "write" && isEntry(request.write.key) ? { fault: "throttled" } : undefined,
    );
    await world.time.advance(120_000);
    process.network.clear();
    expect(own.isHeld).toBe(true);
    await world.until(own.release());
    expect(await world.until(failing)).toMatchObject({ code: "not-acquired" });
    await world.until((await world.until(behind)).release());
    await world.until((await world.until(last)).release());
    expect(granted).toEqual(["1", "behind", "3"]);
    await world.time.advance(1_000);
    expect(entriesIn(world)).toEqual([]);
  });

  it("learn their positions", async () => {
    const { world, held, process, granted, calls } = await crowd(["1"]);
    const seen: number[] = [];
    calls.push(call(process, "2", granted));
    calls.push(
      call(process, "3", granted, { onPosition: (position: number) => seen.push(position) }),
    );
    await world.time.advance(1_000);
    expect(seen.at(-1)).toBe(2);
    await world.until(held.release());
    await releaseEach(world, calls);
    expect(seen).toEqual([2, 1, 0]);
  });
});

// A session ends with the calls of its user, and other calls of the process must not lose their turn with it.
describe("the waiters of one process on different sessions", () => {
  /** A holder, a call on a session of its own, and calls without that session. The later ones come after its place. */
  async function scene(later: boolean) {
    const world = new World();
    const holder = world.inhabitant();
    const held = await world.until(fairLock(holder.locks, NAME).acquire());
    const process = world.inhabitant();
    const [session, another] = [
      await world.until(openSession(process.locks, { lease: "60s" })),
      await world.until(openSession(process.locks, { lease: "60s" })),
    ];
    const granted: string[] = [];
    const abort = new AbortController();
    const onSession = fairLock(process.locks, NAME, { session }).acquire({
      wait: FOR_EVER,
      signal: abort.signal,
    });
    const first = onSession.catch((error: unknown) => error);
    if (later) await world.time.advance(30_000);
    const options = { onPlaceExpired: "fail" };
    const calls = [
      call(process, "none", granted, options),
      fairLock(process.locks, NAME, { session: another, onPlaceExpired: "fail" })
        .acquire({ wait: FOR_EVER })
        .then((lease) => {
          granted.push("another");
          return lease;
        }),
    ];
    await world.time.advance(30_000);
    const rival = call(world.inhabitant(), "rival", granted);
    await world.time.advance(2_000);
    return { world, held, session, granted, abort, first, calls, rival };
  }

  it("keep the tickets that they took together when one of the sessions ends", async () => {
    const { world, held, session, granted, first, calls, rival } = await scene(false);
    await world.until(session.close());
    expect(await world.until(first)).toMatchObject({ code: "closed" });
    await world.time.advance(120_000);
    await world.until(held.release());
    await releaseEach(world, [...calls, rival]);
    expect(granted).toEqual(["none", "another", "rival"]);
  });

  it("lose no place to the end of a session on which they do not wait", async () => {
    const { world, held, session, first, calls, rival } = await scene(true);
    await world.until(session.close());
    expect(await world.until(first)).toMatchObject({ code: "closed" });
    await world.time.advance(2_000);
    await world.until(held.release());
    await world.until((await world.until(rival)).release());
    await releaseEach(world, calls);
  });

  it("do not go on with the place of a call that gave up", async () => {
    const { world, held, session, abort, first, calls, rival } = await scene(true);
    abort.abort();
    await world.until(first);
    await world.time.advance(2_000);
    await world.until(session.close());
    await world.time.advance(2_000);
    await world.until(held.release());
    await world.until((await world.until(rival)).release());
    await releaseEach(world, calls);
  });

  it("go on with a place that the client's own session keeps alive", async () => {
    const world = new World();
    const held = await world.until(fairLock(world.inhabitant().locks, NAME).acquire());
    const process = world.inhabitant({ sharedSession: sharedSession(), lease: "20s" });
    const granted: string[] = [];
    const abort = new AbortController();
    const first = rejection(call(process, "first", granted, { signal: abort.signal }));
    await world.time.advance(1_000);
    const second = call(process, "second", granted, { lease: "60s" });
    await world.time.advance(1_000);
    const rival = call(world.inhabitant(), "rival", granted);
    await world.time.advance(5_000);
    abort.abort();
    await world.until(first);
    await world.time.advance(5_000);
    await world.until(held.release());
    await world.until((await world.until(Promise.race([second, rival]))).release());
    await world.until(Promise.all([second, rival]));
    expect(granted).toEqual(["second", "rival"]);
  });
});
