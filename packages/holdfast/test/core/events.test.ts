import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { releaseByHolder } from "../../src/admin/index.js";
import { LEASE_CHANNELS } from "../../src/events/index.js";
import { all, fairLock, inspect, mutex, openSession } from "../../src/index.js";

const LENGTHS = { lease: 3_000, renew: 1_000 } as const;
const CHANNELS = Object.entries(LEASE_CHANNELS).filter(([name]) => name !== "request");

interface Told extends Record<string, unknown> {
  readonly event: string;
}

let told: Told[];
const ends: (() => void)[] = [];

beforeEach(() => {
  told = [];
  for (const [event, channel] of CHANNELS) {
    const listener = (message: unknown): void => {
      told.push({ event, ...(message as object) });
    };
    subscribe(channel, listener);
    ends.push(() => unsubscribe(channel, listener));
  }
});
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const events = (owner?: string): string[] =>
  told.filter((one) => owner === undefined || one["owner"] === owner).map(({ event }) => event);

function scene() {
  const world = new World();
  const one = world.inhabitant({ ...LENGTHS, owner: "one" });
  const two = world.inhabitant({ ...LENGTHS, owner: "two" });
  return { world, one, two };
}

describe("lease events", () => {
  it("use these channel names", () => {
    expect(LEASE_CHANNELS).toEqual({
      request: "holdfast:request",
      wait: "holdfast:lease:wait",
      position: "holdfast:queue:position",
      overslept: "holdfast:queue:overslept",
      limit: "holdfast:semaphore:limit",
      refusal: "holdfast:lease:refusal",
      grant: "holdfast:lease:grant",
      renewal: "holdfast:lease:renewal",
      longHold: "holdfast:lease:long-hold",
      loss: "holdfast:lease:loss",
      release: "holdfast:lease:release",
    });
    expect(Object.isFrozen(LEASE_CHANNELS)).toBe(true);
  });

  it("report a grant, the renewals and the release, with the lease's facts", async () => {
    const { world, one } = scene();
    const lease = await world.until(mutex(one.locks, "a").acquire());
    await world.time.advance(2_100);
    await world.until(lease.release());
    expect(events()).toEqual(["grant", "renewal", "renewal", "release"]);
    const { holder, fence } = lease;
    const subject = { kind: "lock", name: "a", owner: "one", holder, fence };
    expect(told[0]).toEqual({
      event: "grant",
      ...subject,
      how: "claim",
      waitedMs: 10,
      leaseMs: 3_000,
    });
    expect(told[1]).toMatchObject({ ...subject, isAnswered: true });
    expect(told[1]?.["lateMs"]).toBeLessThan(1);
    expect(told[3]).toEqual({ event: "release", ...subject, heldMs: 2_100 });
  });

  it("report a wait once, with the current holder and the outcome", async () => {
    const { world, one, two } = scene();
    await world.until(mutex(one.locks, "a").acquire());
    one.process.kill();
    const taken = await world.until(mutex(two.locks, "a").acquire());
    expect(events("two")).toEqual(["wait", "grant"]);
    expect(told.find(({ event }) => event === "wait")).toMatchObject({ heldBy: "one" });
    const { how, waitedMs } = told.at(-1) as Told;
    expect(how).toBe("takeover");
    expect(waitedMs).toBe(world.time.nowMs - 10);
    expect(taken.isHeld).toBe(true);
  });

  it("let a listener end the wait of a local waiter", async () => {
    const { world, one } = scene();
    await world.until(mutex(one.locks, "a").acquire());
    const abort = new AbortController();
    const listener = () => abort.abort("enough");
    subscribe(LEASE_CHANNELS.wait, listener);
    ends.push(() => unsubscribe(LEASE_CHANNELS.wait, listener));
    const waiting = mutex(one.locks, "a").acquire({ signal: abort.signal });
    await expect(world.until(waiting)).rejects.toBe("enough");
  });

  it("report the wait for a free lock with a queue", async () => {
    const { world, one, two } = scene();
    await world.until(mutex(one.locks, "c").acquire());
    const queued = all(one.locks, ["b", "c"]).acquire({ wait: "1m" });
    await world.time.advance(1_000);
    told = [];
    const waiting = world.until(mutex(two.locks, "b").acquire({ wait: "500ms" }));
    await expect(waiting).rejects.toMatchObject({ code: "not-acquired" });
    expect(events("two")).toEqual(["wait", "position", "refusal"]);
    expect(told.find(({ event }) => event === "wait")).not.toMatchObject({ heldBy: "one" });
    await world.until(Promise.all([one.locks.close(), queued.catch(() => undefined)]));
  });

  it("distinguish a local handoff from a claim", async () => {
    const { world, one } = scene();
    const first = await world.until(mutex(one.locks, "a").acquire());
    const second = mutex(one.locks, "a").acquire();
    await world.until(first.release());
    await world.until(second);
    expect(events()).toEqual(["grant", "wait", "release", "grant"]);
    expect(told.at(-1)).toMatchObject({ how: "hand-over" });
  });

  it.each([
    [{ wait: 0 }, ["refusal"], "not-acquired"],
    [{ wait: "500ms" }, ["wait", "refusal"], "not-acquired"],
    [{ signal: AbortSignal.abort("enough") }, ["refusal"], "aborted"],
  ])("report why an acquisition with %j ended without a lease: %j", async (options, all, code) => {
    const { world, one, two } = scene();
    await world.until(mutex(one.locks, "a").acquire());
    const fromMs = world.time.nowMs;
    await expect(world.until(mutex(two.locks, "a").acquire(options))).rejects.toBeDefined();
    expect(events("two")).toEqual(all);
    const waitedMs = world.time.nowMs - fromMs;
    expect(told.at(-1)).toMatchObject({ event: "refusal", owner: "two", code, waitedMs });
  });

  it("report unanswered renewals, and the loss once with the reason", async () => {
    const { world, one } = scene();
    await world.time.advance(5_000);
    await world.until(mutex(one.locks, "a").acquire());
    one.network.script(() => ({ fault: "request-lost", unknownAfterMs: 50 }));
    await world.time.advance(10_000);
    const renewals = told.filter(({ event }) => event === "renewal");
    expect(renewals.length).toBeGreaterThan(3);
    expect(renewals.every(({ isAnswered }) => isAnswered === false)).toBe(true);
    const losses = told.filter(({ event }) => event === "loss");
    expect(losses).toHaveLength(1);
    expect(losses[0]).toMatchObject({ reason: "expired", name: "a" });
    expect(losses[0]?.["heldMs"]).toBeGreaterThan(2_800);
    expect(losses[0]?.["heldMs"]).toBeLessThan(3_100);
  });

  it("report how long a renewal took, and the time left, with and without an answer", async () => {
    const { world, one } = scene();
    await world.until(mutex(one.locks, "a").acquire());
    await world.time.advance(1_100);
    const renewal = told.find(({ event }) => event === "renewal");
    // 3 s, less twice 1 % and one clock step, counted from before the send.
    expect(renewal).toMatchObject({ isAnswered: true, durationMs: 10, remainingMs: 2_920 });
    one.network.script(() => ({ fault: "request-lost", unknownAfterMs: 50 }));
    await world.time.advance(1_000);
    expect(told.at(-1)).toMatchObject({ isAnswered: false, durationMs: 50 });
    expect(told.at(-1)?.["remainingMs"]).toBeLessThan(2_000);
  });

  it("report how late a loss was noticed: 0 before the deadline", async () => {
    const { world, one, two } = scene();
    const lease = await world.until(mutex(one.locks, "a").acquire());
    await world.until(releaseByHolder(two.locks, "a", lease.holder));
    await world.time.advance(1_100);
    expect(told.at(-1)).toMatchObject({ event: "loss", reason: "released-elsewhere", lateMs: 0 });
    await world.until(mutex(one.locks, "b").acquire());
    one.process.pause();
    await world.time.advance(10_000);
    one.process.resume();
    await world.time.advance(10);
    const loss = told.findLast(({ event }) => event === "loss") as Told;
    expect(loss).toMatchObject({ name: "b", reason: "expired" });
    expect(loss["lateMs"]).toBeGreaterThan(7_000);
    expect(loss["lateMs"]).toBeLessThan(7_100);
  });

  it("hide the lease of a queue place, from grant to end", async () => {
    const { world, one, two } = scene();
    const held = await world.until(
      fairLock(one.locks, "a").acquire({ renew: "manual", lease: "1h" }),
    );
    const waiting = fairLock(two.locks, "a").acquire();
    await world.time.advance(5_000);
    two.process.pause();
    await world.time.advance(10_000);
    two.process.resume();
    await world.time.advance(5_000);
    await world.until(held.release());
    await world.until(waiting);
    expect(events("two")).toEqual(["wait", "position", "overslept", "position", "grant"]);
  });

  it("report how late a renewal was sent", async () => {
    const { world, one } = scene();
    await world.until(mutex(one.locks, "a").acquire());
    one.process.pause();
    await world.time.advance(2_000);
    one.process.resume();
    await world.time.advance(20);
    const { lateMs } = told.find(({ event }) => event === "renewal") as Told;
    expect(lateMs).toBeGreaterThan(950);
    expect(lateMs).toBeLessThan(1_120);
  });

  it("report sessions as leases of a kind of their own", async () => {
    const { world, one } = scene();
    one.network.next("write", { fault: "delayed", delayMs: 40 });
    const session = await world.until(openSession(one.locks));
    expect(told[0]).toMatchObject({ event: "grant", how: "claim", waitedMs: 45 });
    await world.time.advance(1_500);
    await world.until(session.close());
    const subject = { kind: "session", name: session.id, owner: "one" };
    const between = events().slice(1, -1);
    expect(events()).toEqual(["grant", ...between, "release"]);
    expect(new Set(between)).toEqual(new Set(["renewal"]));
    for (const one of told) expect(one).toMatchObject(subject);
  });

  it("request consumed capacity only while the request channel has a listener", async () => {
    const { world, one } = scene();
    const asked: unknown[] = [];
    const table = one.network;
    const [write, read] = [table.write.bind(table), table.read.bind(table)];
    table.write = (request, call) => {
      asked.push(call.tellsUnits);
      return write(request, call);
    };
    table.read = (request, call) => {
      asked.push(call.tellsUnits);
      return read(request, call);
    };
    const lease = await world.until(mutex(one.locks, "a").acquire());
    const noted = (): undefined => undefined;
    subscribe(LEASE_CHANNELS.request, noted);
    await world.until(lease.release());
    await world.until(inspect(one.locks, "a"));
    unsubscribe(LEASE_CHANNELS.request, noted);
    await world.until(inspect(one.locks, "a"));
    expect(asked).toEqual([undefined, true, true, undefined]);
  });

  it("report each request with its outcome and duration while the channel has a listener", async () => {
    const { world, one, two } = scene();
    const requests: unknown[] = [];
    const listener = (message: unknown): void => void requests.push(message);
    subscribe(LEASE_CHANNELS.request, listener);
    await world.until(mutex(one.locks, "a").acquire());
    await world.until(mutex(two.locks, "a").tryAcquire());
    await world.until(inspect(two.locks, "a"));
    unsubscribe(LEASE_CHANNELS.request, listener);
    await world.until(inspect(two.locks, "a"));
    expect(requests).toEqual([
      { operation: "write", outcome: "applied", durationMs: 10 },
      { operation: "write", outcome: "refused", durationMs: 10 },
      { operation: "read", outcome: "found", durationMs: 10 },
    ]);
  });
});
