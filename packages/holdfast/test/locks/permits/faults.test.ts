import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, it } from "vitest";
import { expectError, expectThrown } from "../../../../../test/support/errors.js";
import { type Inhabitant, inWorld, World } from "../../../../../test/support/world.js";
import type { Fault, FaultRequest } from "../../../../testing/src/faults/fault-plan.js";
import { LEASE_CHANNELS } from "../../../src/core/events.js";
import { HoldfastError, mutex, openSession, semaphore, sharedSession } from "../../../src/index.js";

const DATES = { dates: (trueMs: number) => Math.floor(trueMs / 1_000) * 1_000 };
const FOR_EVER = { wait: Number.POSITIVE_INFINITY };
const KEY = { pk: { S: "semaphore#s" }, sk: { S: "lease" } };

const isGrant = (request: FaultRequest): boolean =>
  request.kind === "write" && "limit" in request.write.change.set;
const isRemoval = (request: FaultRequest): boolean =>
  request.kind === "write" &&
  request.write.change.remove.some((attribute) => attribute.startsWith("permit#"));

/** The number of permits in the record, the weight in `used`, and the number of marks. */
function stateOf(world: World): [permits: number, used: number, marks: number] {
  const item = world.table.item(KEY) ?? {};
  const used = item["used"];
  const count = (start: string) => Object.keys(item).filter((one) => one.startsWith(start)).length;
  const weight = used !== undefined && "N" in used ? Number(used.N) : 0;
  return [count("permit#"), weight, count("withdrawn#")];
}

const semaphoreOf = ({ locks }: Inhabitant, permits = 1) => semaphore(locks, "s", { permits });

/** A process that has a session already, so that its next write is a grant. */
async function withSession(world: World, options = {}): Promise<Inhabitant> {
  const one = world.inhabitant(options);
  await world.until(semaphore(one.locks, "other", { permits: 10 }).acquire());
  return one;
}

/** Applies the fault to each request that fits, until `calm` is called. */
function faults({ network }: Inhabitant, fits: (request: FaultRequest) => boolean, fault: Fault) {
  network.script((request) => (fits(request) ? fault : undefined));
  return { calm: () => network.script(() => undefined) };
}

describe("an attempt without a permit", () => {
  // rule: protocol 105
  it("is removed from the record when the caller gives up before the answer", async () => {
    const world = new World(DATES);
    const [a, b] = [await withSession(world), await withSession(world)];
    const other = await world.until(semaphoreOf(b, 2).acquire());
    const lost = faults(a, isGrant, { fault: "response-lost", unknownAfterMs: 1_000 });
    const controller = new AbortController();
    const acquiring = semaphoreOf(a, 2).acquire({ signal: controller.signal });
    acquiring.catch(() => undefined);
    await world.time.advance(50);
    expect(stateOf(world)).toEqual([2, 2, 0]);
    controller.abort(new Error("given up"));
    lost.calm();
    await expect(world.until(acquiring)).rejects.toThrow("given up");
    await world.time.advance(1_000);
    expect(stateOf(world)).toEqual([1, 1, 1]);
    expect(other.isHeld).toBe(true);
  });

  // rule: protocol 105
  it("leaves a mark also if another client removes its permit first", async () => {
    const world = new World(DATES);
    const a = await withSession(world);
    a.network.script((request) => {
      if (isGrant(request)) return { fault: "response-lost", unknownAfterMs: 1_000 };
      // The record is as after the removal by another client.
      if (isRemoval(request)) {
        const { used: _, ...rest } = world.table.item(KEY) ?? {};
        const kept = Object.entries(rest).filter(([name]) => !/^(permit|fence)#/.test(name));
        world.table.putItem(KEY, Object.fromEntries(kept));
      }
      return undefined;
    });
    const acquiring = semaphoreOf(a).acquire({ wait: "50ms" });
    await world.until(expectError(acquiring, { code: "unreachable", lockName: "s" }));
    await world.time.advance(2_000);
    expect(stateOf(world)).toEqual([0, 0, 1]);
  });

  it("is left alone when the record has become unreadable", async () => {
    const world = new World(DATES);
    const a = await withSession(world);
    const lost = faults(a, isGrant, { fault: "response-lost", unknownAfterMs: 1_000 });
    const acquiring = semaphoreOf(a).acquire({ wait: "50ms" });
    acquiring.catch(() => undefined);
    await world.time.advance(20);
    world.table.putItem(KEY, { v: { N: "2" } });
    lost.calm();
    await world.until(expectError(acquiring, { code: "unreachable", lockName: "s" }));
    await world.time.advance(1_000);
    const before = world.table.counts.writes;
    await world.time.advance(5_000);
    // At most one renewal of the session.
    expect(world.table.counts.writes - before).toBeLessThanOrEqual(1);
  });

  // rule: protocol 105
  it("is withdrawn after a refusal if an earlier copy may still arrive", async () => {
    const world = new World(DATES);
    const [a, b] = [await withSession(world), await withSession(world)];
    const held = await world.until(semaphoreOf(b).acquire());
    let sends = 0;
    a.network.script((request) => {
      sends += isGrant(request) ? 1 : 0;
      return isGrant(request) && sends === 1
        ? { fault: "applied-late", delayMs: 5_000, unknownAfterMs: 10 }
        : undefined;
    });
    expect(await world.until(semaphoreOf(a).tryAcquire())).toBeNull();
    expect(sends).toBe(2);
    await world.until(held.release());
    await world.time.advance(10_000);
    expect(stateOf(world)).toEqual([0, 0, 1]);
  });
});

describe("a permit that was sent for", () => {
  it("leaves no mark after a grant that was sent once", async () => {
    const world = new World(DATES);
    const a = await withSession(world);
    await world.until((await world.until(semaphoreOf(a).acquire())).release());
    expect(stateOf(world)).toEqual([0, 0, 0]);
  });

  // rule: protocol 106
  it.each<[string, Fault]>([
    ["arrives late", { fault: "applied-late", delayMs: 5_000, unknownAfterMs: 10 }],
    ["was repeated below the library", { fault: "response-lost-and-retried", retryAfterMs: 5 }],
  ])("is not granted again after the release when its first request %s", async (_, fault) => {
    const world = new World(DATES);
    const a = await withSession(world);
    let sends = 0;
    a.network.script((request) => {
      sends += isGrant(request) ? 1 : 0;
      return isGrant(request) && sends === 1 ? fault : undefined;
    });
    const permit = await world.until(semaphoreOf(a).acquire());
    await world.until(permit.release());
    await world.time.advance(10_000);
    expect(stateOf(world)).toEqual([0, 0, 1]);
  });

  // rule: protocol 107
  it("keeps the marks of withdrawn attempts for an hour", async () => {
    const world = new World(DATES);
    const a = await withSession(world);
    let sends = 0;
    a.network.script((request) => {
      sends += isGrant(request) ? 1 : 0;
      return isGrant(request) && sends % 2 === 1
        ? { fault: "response-lost", unknownAfterMs: 10 }
        : undefined;
    });
    const use = async () => world.until((await world.until(semaphoreOf(a).acquire())).release());
    await use();
    await world.time.advance(3_000_000);
    await use();
    await use();
    expect(stateOf(world)).toEqual([0, 0, 3]);
    await world.time.advance(1_000_000);
    await use();
    expect(stateOf(world)).toEqual([0, 0, 3]);
  });

  // rule: protocol 107
  it("removes at most 50 marks in a write, and the oldest of more than 1,000", async () => {
    const world = new World(DATES);
    const a = await withSession(world);
    await world.until((await world.until(semaphoreOf(a).acquire())).release());
    const marks = Array.from({ length: 1_070 }, (_, at) => [
      `withdrawn#${String(at).padStart(4, "0")}`,
      { N: String(world.time.wallMs - 1_070 + at) },
    ]);
    const { pk: _, sk: __, ...rest } = world.table.item(KEY) ?? {};
    world.table.putItem(KEY, { ...rest, ...Object.fromEntries(marks) });
    const use = async () => {
      await world.until((await world.until(semaphoreOf(a).acquire())).release());
      return stateOf(world)[2];
    };
    const counts = [await use(), await use(), await use(), await use()];
    expect(counts).toEqual([1_070, 1_020, 1_000, 1_000]);
    expect(world.table.item(KEY)).not.toHaveProperty("withdrawn#0069");
    expect(world.table.item(KEY)).toHaveProperty("withdrawn#0070");
  });

  // rule: protocol 102
  it("is acquired by another session if the first ended during the request", async () => {
    const world = new World(DATES);
    const a = await withSession(world);
    const acquiring = semaphoreOf(a).acquire(FOR_EVER);
    await world.time.advance(7);
    a.process.pause();
    await world.time.advance(60_000);
    a.process.resume();
    const permit = await world.until(acquiring);
    expect(permit.isHeld).toBe(true);
    const marked = JSON.stringify(world.table.item(KEY)?.[`permit#${permit.holder}`]);
    const rows = world.table.items().map(({ pk }) => JSON.stringify(pk));
    const session = /"session":\{"S":"([^"]+)"/.exec(marked)?.[1];
    expect(rows.some((pk) => pk.includes(`session#${session}`))).toBe(true);
  });

  // rule: protocol 102
  it("is acquired by another session if the first ended during the wait", async () => {
    const world = new World(DATES);
    const [a, b] = [await withSession(world), await withSession(world)];
    const held = await world.until(semaphoreOf(b).acquire());
    const acquiring = semaphoreOf(a).acquire(FOR_EVER);
    await world.time.advance(3_000);
    a.process.pause();
    await world.time.advance(60_000);
    await world.until(held.release());
    a.process.resume();
    expect((await world.until(acquiring)).isHeld).toBe(true);
  });
});

describe("a permit that a copy granted again", () => {
  // rule: protocol 108
  it("is removed with a mark, and its client's other permits stay", async () => {
    const world = new World(DATES);
    const a = await withSession(world);
    const duplicated = faults(a, isGrant, { fault: "duplicated", delayMs: 5_000 });
    const permit = await world.until(semaphoreOf(a, 2).acquire());
    duplicated.calm();
    await world.until(permit.release());
    await world.time.advance(6_000);
    expect(stateOf(world)).toEqual([1, 1, 0]);
    const kept = await world.until(semaphoreOf(a, 2).acquire());
    await world.time.advance(1_000);
    expect(stateOf(world)).toEqual([1, 1, 1]);
    expect(kept.isHeld).toBe(true);
    expect(world.table.item(KEY)?.[`withdrawn#${permit.holder}`]).toBeDefined();
  });

  // rule: protocol 108
  it("is removed by a strongly consistent check, which an unanswered read repeats", async () => {
    const world = new World(DATES);
    const [a, b] = [await withSession(world), await withSession(world)];
    const duplicated = faults(a, isGrant, { fault: "duplicated", delayMs: 5_000 });
    const permit = await world.until(semaphoreOf(a).acquire());
    duplicated.calm();
    await world.until(permit.release());
    await world.time.advance(6_000);
    const checks: boolean[] = [];
    a.network.script((request) => {
      if (request.kind !== "read") return undefined;
      checks.push(request.read.consistent);
      return checks.length === 1 ? { fault: "request-lost", unknownAfterMs: 10 } : undefined;
    });
    let notes = 0;
    b.network.script((request) => {
      const { set = {} } = request.kind === "write" ? request.write.change : {};
      notes += Object.keys(set).some((name) => name.startsWith("request#")) ? 1 : 0;
      return undefined;
    });
    const next = semaphoreOf(b).acquire(FOR_EVER);
    await world.time.advance(29_000);
    expect(notes).toBe(0);
    expect((await world.until(next)).isHeld).toBe(true);
    expect(checks).toEqual([true, true]);
    expect(notes).toBe(1);
  });

  // rule: protocol 108
  it("is removed also if its holder had held it for too long", async () => {
    const world = new World(DATES);
    const [a, b] = [await withSession(world), await withSession(world)];
    const duplicated = faults(a, isGrant, { fault: "duplicated", delayMs: 60_000 });
    const permit = await world.until(semaphoreOf(a).acquire({ maxHold: "1s" }));
    duplicated.calm();
    await world.time.advance(2_000);
    expect(permit.isHeld).toBe(false);
    await world.until(permit.release());
    await world.time.advance(60_000);
    expect(stateOf(world)).toEqual([1, 1, 0]);
    expect((await world.until(semaphoreOf(b).acquire(FOR_EVER))).isHeld).toBe(true);
  });
});

describe("a waiter for a permit", () => {
  it("asks each session of a holder once, however long it waits", async () => {
    const world = new World(DATES);
    const [a, b, c] = [
      await withSession(world),
      await withSession(world),
      await withSession(world),
    ];
    await world.until(semaphoreOf(a, 2).acquire());
    await world.until(semaphoreOf(b, 2).acquire());
    let notes = 0;
    c.network.script((request) => {
      const { set = {} } = request.kind === "write" ? request.write.change : {};
      notes += Object.keys(set).some((name) => name.startsWith("request#")) ? 1 : 0;
      return undefined;
    });
    const waiting = semaphoreOf(c, 2).acquire({ wait: "150s" });
    waiting.catch(() => undefined);
    await world.time.advance(140_000);
    expect(notes).toBe(2);
  });

  it("reads the record eventually consistently, and each session once a lease", async () => {
    const world = new World(DATES);
    const [a, b] = [await withSession(world), await withSession(world)];
    await world.until(semaphoreOf(a).acquire());
    const reads = { record: 0, strong: 0, session: 0 };
    b.network.script((request) => {
      if (request.kind !== "read") return undefined;
      const isRecord = JSON.stringify(request.read.key).includes("semaphore#s");
      reads.record += isRecord ? 1 : 0;
      reads.strong += isRecord && request.read.consistent ? 1 : 0;
      reads.session += isRecord ? 0 : 1;
      return undefined;
    });
    const waiting = semaphoreOf(b).acquire({ wait: "60s", poll: { min: "500ms", max: "500ms" } });
    waiting.catch(() => undefined);
    await world.time.advance(20_000);
    expect(reads.record).toBeGreaterThan(30);
    expect(reads.record).toBeLessThan(60);
    expect(reads.strong).toBe(0);
    expect(reads.session).toBeLessThanOrEqual(3);
  });

  it("reads once more, strongly consistently, when a read shows no record", async () => {
    const world = new World(DATES);
    const [a, b] = [await withSession(world), await withSession(world)];
    await world.until(semaphoreOf(a).acquire());
    const waiting = semaphoreOf(b).acquire(FOR_EVER);
    await world.time.advance(5_000);
    let strong = 0;
    b.network.script((request) => {
      const isRecord =
        request.kind === "read" && JSON.stringify(request.read.key).includes("semaphore#s");
      strong += isRecord && request.read.consistent ? 1 : 0;
      return undefined;
    });
    world.table.deleteItem(KEY);
    expect((await world.until(waiting)).isHeld).toBe(true);
    expect(strong).toBe(1);
  });

  it.each(["throttled", "request-lost"] as const)(
    "takes the permit of a dead holder while the session of another one cannot be ended: %s",
    async (fault) => {
      const world = new World(DATES);
      const [first, second] = [world.inhabitant(), world.inhabitant()];
      const c = await withSession(world);
      const session = await world.until(openSession(first.locks));
      await world.until(semaphore(first.locks, "s", { permits: 2, session }).acquire());
      await world.until(semaphoreOf(second, 2).acquire());
      for (const { process } of [first, second]) process.kill();
      const isOfFirst = (request: FaultRequest): boolean =>
        request.kind === "write" && JSON.stringify(request.write.key).includes(session.id);
      faults(c, isOfFirst, { fault });
      expect((await world.until(semaphoreOf(c, 2).acquire({ wait: "5m" }))).isHeld).toBe(true);
    },
  );

  it("does not sleep past the moment at which a holder may count as dead", async () => {
    const world = new World(DATES);
    const [a, b] = [await withSession(world), await withSession(world)];
    await world.until(semaphoreOf(a).acquire());
    a.process.kill();
    const killedMs = world.time.nowMs;
    const poll = { min: "25s", max: "25s" } as const;
    await world.until(semaphoreOf(b).acquire({ ...FOR_EVER, poll }));
    expect(world.time.nowMs - killedMs).toBeLessThan(45_000);
  });

  it("is not passed by later calls of its process, which cost no request", async () => {
    const world = new World(DATES);
    const [a, b] = [await withSession(world), await withSession(world)];
    const held = await world.until(semaphoreOf(a, 2).acquire());
    const semaphore = semaphoreOf(b, 2);
    const order: string[] = [];
    const heavy = semaphore.acquire({ ...FOR_EVER, weight: 2 }).then((permit) => {
      order.push("heavy");
      return permit.release();
    });
    await world.time.advance(1_000);
    let grants = 0;
    b.network.script((request) => {
      grants += isGrant(request) ? 1 : 0;
      return undefined;
    });
    expect(await world.until(semaphore.tryAcquire())).toBeNull();
    expect(grants).toBe(0);
    const light = semaphore.acquire(FOR_EVER).then(() => order.push("light"));
    await world.time.advance(3_000);
    expect(order).toEqual([]);
    await world.until(held.release());
    await world.until(Promise.all([heavy, light]));
    expect(order).toEqual(["heavy", "light"]);
  });

  it("ends at once when the caller aborts while the session opens", async () => {
    const { world, locks, network } = inWorld({}, DATES);
    network.script(() => ({ fault: "delayed", delayMs: 4_000 }));
    const controller = new AbortController();
    const acquiring = semaphore(locks, "s", { permits: 1 }).acquire({ signal: controller.signal });
    acquiring.catch(() => undefined);
    await world.time.advance(100);
    controller.abort(new Error("given up"));
    const startMs = world.time.nowMs;
    await expect(world.until(acquiring)).rejects.toThrow("given up");
    expect(world.time.nowMs - startMs).toBeLessThan(100);
  });

  it("closes a session that opens after the caller aborts, one lease later", async () => {
    const world = new World(DATES);
    const { locks } = world.inhabitant({
      lease: "3s",
      latency: { requestMs: 100, responseMs: 100 },
    });
    const controller = new AbortController();
    const acquiring = semaphore(locks, "s", { permits: 1 }).acquire({ signal: controller.signal });
    acquiring.catch(() => undefined);
    await world.time.advance(50);
    controller.abort(new Error("given up"));
    await expect(world.until(acquiring)).rejects.toThrow("given up");
    await world.time.advance(1_000);
    const [row] = world.table.items();
    expect(row?.["holder"]).toBeDefined();
    await world.time.advance(5_000);
    expect(world.table.items().map(({ holder }) => holder)).toEqual([undefined]);
  });
});

describe("an acquisition while no renewal of its session is answered", () => {
  it("waits, and opens another session when the table answers again", async () => {
    const world = new World(DATES);
    const a = world.inhabitant({ lease: "3s" });
    let writes = 0;
    a.network.script((request) => {
      writes += request.kind === "write" ? 1 : 0;
      return writes > 1 && world.time.nowMs < 20_000 ? { fault: "request-lost" } : undefined;
    });
    const permit = await world.until(semaphoreOf(a).acquire(FOR_EVER));
    expect(permit.isHeld).toBe(true);
    expect(world.time.nowMs).toBeGreaterThan(20_000);
  });

  it("rejects a try with unreachable, since no permit was lost", async () => {
    const world = new World(DATES);
    const a = world.inhabitant({ lease: "3s" });
    let writes = 0;
    a.network.script((request) => {
      writes += request.kind === "write" ? 1 : 0;
      return writes > 1 ? { fault: "request-lost" } : undefined;
    });
    const trying = expectError(semaphoreOf(a).tryAcquire(), {
      ...{ code: "unreachable", lockName: "s", mentions: ['Semaphore "s"', "does not answer"] },
    });
    await world.until(trying);
    // The third answer is late: each renewal waits for less than half of the session.
    expect(world.time.nowMs).toBeLessThan(2 * 3_000);
  });

  it("rejects with the loss of a session that the caller opened", async () => {
    const world = new World(DATES);
    const a = world.inhabitant();
    const session = await world.until(openSession(a.locks, { lease: "3s" }));
    a.network.script((request) =>
      request.kind === "write" ? { fault: "request-lost" } : undefined,
    );
    await world.time.advance(4_000);
    expect(session.isHeld).toBe(false);
    const acquiring = semaphore(a.locks, "s", { permits: 1, session }).acquire(FOR_EVER);
    await world.until(expectError(acquiring, { code: "closed" }));
  });
});

describe("an acquisition while no grant is answered", () => {
  const OPTIONS = { lease: "3s", requestTimeout: "5s" } as const;

  it("rejects a try after two silences of half a lease", async () => {
    const world = new World(DATES);
    const a = await withSession(world, OPTIONS);
    faults(a, isGrant, { fault: "request-lost" });
    const startMs = world.time.nowMs;
    const trying = semaphoreOf(a).tryAcquire();
    await world.until(expectError(trying, { code: "unreachable", lockName: "s" }));
    expect(world.time.nowMs - startMs).toBeGreaterThan(2_900);
    expect(world.time.nowMs - startMs).toBeLessThan(7_000);
  });

  it("goes on waiting, and acquires the permit when the table answers again", async () => {
    const world = new World(DATES);
    const a = await withSession(world, OPTIONS);
    const silence = faults(a, isGrant, { fault: "request-lost" });
    const acquiring = semaphoreOf(a).acquire(FOR_EVER);
    await world.time.advance(20_000);
    silence.calm();
    expect((await world.until(acquiring)).isHeld).toBe(true);
  });
});

describe("an error about a permit", () => {
  it("names the semaphore and the session when a release is not acknowledged", async () => {
    const world = new World(DATES);
    const a = await withSession(world);
    const permit = await world.until(semaphoreOf(a).acquire());
    const calm = faults(a, isRemoval, { fault: "request-lost" });
    const facts = { code: "outcome-unknown", lockName: "s" } as const;
    await world.until(
      expectError(permit.release(), {
        ...{ ...facts, mentions: ["semaphore", "permit", "session"], omits: ["lease", "lock"] },
      }),
    );
    calm.calm();
    await world.time.advance(40_000);
    expect(stateOf(world)).toEqual([0, 0, 0]);
  });

  it("names the semaphore after the release", async () => {
    const world = new World(DATES);
    const permit = await world.until(semaphoreOf(await withSession(world)).acquire());
    await world.until(permit.release());
    const facts = { code: "lost", lockName: "s", omits: ["Lock"] } as const;
    expectThrown(() => permit.assertHeld(), facts);
  });

  it("is `foreign-record` if a session's id in the record is too long for a key", async () => {
    const world = new World(DATES);
    const a = await withSession(world);
    await world.until(semaphoreOf(a).acquire());
    const item = world.table.item(KEY) ?? {};
    const [name = ""] = Object.keys(item).filter((one) => one.startsWith("permit#"));
    const value = item[name];
    const session = { S: "s".repeat(2_041) };
    const permit = { M: { ...(value !== undefined && "M" in value ? value.M : {}), session } };
    world.table.putItem(KEY, { ...item, [name]: permit });
    const facts = { code: "foreign-record", lockName: "s", omits: ["lock"] } as const;
    await world.until(expectError(semaphoreOf(a).acquire(), facts));
    await world.until(expectError(semaphoreOf(a).inspect(), facts));
  });
});

describe("an acquisition that its caller ends", () => {
  it("ends before the turn if a listener to the wait event aborts the call", async () => {
    const world = new World(DATES);
    const a = await withSession(world);
    const held = await world.until(semaphoreOf(a).acquire());
    const first = semaphoreOf(a).acquire(FOR_EVER);
    await world.time.advance(2_000);
    const controller = new AbortController();
    const abort = (): void => controller.abort(new Error("no need"));
    subscribe(LEASE_CHANNELS.wait, abort);
    const second = semaphoreOf(a).acquire({ ...FOR_EVER, signal: controller.signal });
    await expect(world.until(second)).rejects.toThrow("no need");
    unsubscribe(LEASE_CHANNELS.wait, abort);
    await world.until(held.release());
    expect((await world.until(first)).isHeld).toBe(true);
  });

  it("sends no more than the mark again, if the answer to the mark is lost and others hold permits", async () => {
    const world = new World(DATES);
    const [a, b] = [await withSession(world), await withSession(world)];
    await world.until(semaphoreOf(b, 2).acquire());
    let marks = 0;
    a.network.script((request) => {
      if (isGrant(request)) return { fault: "request-lost", unknownAfterMs: 10 };
      if (request.kind !== "write" || JSON.stringify(request.write.key) !== JSON.stringify(KEY))
        return undefined;
      marks += 1;
      return marks === 1 ? { fault: "response-lost", unknownAfterMs: 10 } : undefined;
    });
    const acquiring = semaphoreOf(a, 2).acquire({ wait: "50ms" });
    await world.until(expectError(acquiring, { code: "unreachable", lockName: "s" }));
    await world.time.advance(60_000);
    expect(stateOf(world)).toEqual([1, 1, 1]);
    expect(marks).toBe(2);
  });
});

describe("a call without a wait on a table that does not answer", () => {
  const SILENT = { fault: "request-lost", unknownAfterMs: 5_000 } as const;
  const REFUSED = new HoldfastError("access-denied", "not allowed");

  it.each([
    ["10s", false],
    ["10s", true],
    ["1m", false],
    ["1m", true],
  ] as const)(
    "takes as long as for a mutex, with a lease of %s, if a session is open: %s",
    async (lease, isOpen) => {
      const tookMs = async (call: (who: Inhabitant) => Promise<unknown>): Promise<number> => {
        const world = new World();
        const who = isOpen ? await withSession(world, { lease }) : world.inhabitant({ lease });
        faults(who, () => true, SILENT);
        const fromMs = world.time.nowMs;
        await expect(world.until(call(who))).rejects.toMatchObject({ code: "unreachable" });
        return world.time.nowMs - fromMs;
      };
      const permitMs = await tookMs((who) => semaphoreOf(who).tryAcquire());
      const mutexMs = await tookMs(({ locks }) => mutex(locks, "a").tryAcquire());
      // One pause between two attempts.
      expect(Math.abs(permitMs - mutexMs)).toBeLessThanOrEqual(500);
    },
  );

  it.each([
    ["throttled", { fault: "throttled" }, "throttled"],
    ["silent", SILENT, "unreachable"],
    ["refusing", { fault: "misconfigured", error: REFUSED }, "access-denied"],
  ] as const)("tells its caller alone, as for a mutex: %s", async (_, fault, code) => {
    const world = new World();
    for (const isMutex of [true, false]) {
      const { locks, network, reported } = world.inhabitant();
      network.script(() => fault);
      const lock = isMutex ? mutex(locks, "a") : semaphore(locks, "s", { permits: 1 });
      await expect(world.until(lock.tryAcquire())).rejects.toMatchObject({ code });
      await world.time.advance(120_000);
      expect(reported).toEqual([]);
    }
  });
});

it.each([false, true])(
  "a lease of a client tells of its outage, beside a try (%s) that has ended",
  async (tries) => {
    const { world, locks, network, reported } = inWorld({ sharedSession: sharedSession() });
    const lease = await world.until(mutex(locks, "x").acquire());
    await world.time.advance(9_000);
    network.script(({ kind }) => (kind === "write" ? { fault: "throttled" } : undefined));
    await world.time.advance(50);
    if (tries) {
      const given = semaphore(locks, "s", { permits: 2 }).tryAcquire();
      await expect(world.until(given)).rejects.toMatchObject({ code: "throttled" });
    }
    await world.time.advance(60_000);
    expect(reported.map(({ code }) => code)).toEqual(["throttled"]);
    expect(lease.name).toBe("x");
  },
);
