import { describe, expect, it } from "vitest";
import { fixedProcess } from "../../../../../test/support/fixed.js";
import { inWorld, World } from "../../../../../test/support/world.js";
import { awsLockClient, dynamolock } from "../../../../formats/src/index.js";
import { FaultyTable, MemoryTable, VirtualTime } from "../../../../testing/src/index.js";
import { election } from "../../../src/election/index.js";
import { Holdfast, HoldfastError, inspect, mutex } from "../../../src/index.js";
import type { Write } from "../../../src/platform/table.js";

const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const LOST = { fault: "request-lost", unknownAfterMs: 10 } as const;
const APPLIED = { fault: "response-lost", unknownAfterMs: 10 } as const;
const ATTRIBUTES = { attributes: { note: { S: "abandoned" } } } as const;

function setUp() {
  const world = new World();
  const who = fixedProcess(world, { lease: "10s" });
  const sent: number[] = [];
  who.network.script((request) => {
    if (request.kind === "write") sent.push(world.time.nowMs);
    return undefined;
  });
  return { world, sent, ...who, mutex: mutex(who.locks, "a") };
}

/** Abandons an unanswered acquisition after 15 ms, in the middle of the first pause. */
async function giveUp(
  { world, network, mutex }: ReturnType<typeof setUp>,
  fault: typeof LOST | typeof APPLIED,
  options = {},
): Promise<void> {
  network.next("write", fault);
  const given = mutex.acquire({ wait: "15ms", ...options });
  await expect(world.until(given)).rejects.toMatchObject({ code: "unreachable" });
}

describe("the rollback of a claim", () => {
  it("ends after the applied claim is undone", async () => {
    const scene = setUp();
    await giveUp(scene, APPLIED);
    await scene.world.time.advance(1_000);
    expect(scene.process.pendingTimers()).toBe(0);
    await scene.world.time.advance(60_000);
    expect(scene.sent).toEqual([15]);
    expect(scene.world.record("a")).toBeDefined();
    expect(scene.world.record("a")?.["holder"]).toBeUndefined();
  });

  it("retries with doubling pauses for the length of the lease", async () => {
    const scene = setUp();
    await giveUp(scene, LOST);
    await scene.world.time.advance(60_000);
    expect(scene.sent).toEqual([15, 115, 315, 715, 1_515, 3_115, 6_315]);
    expect(scene.process.pendingTimers()).toBe(0);
  });

  it("keeps the data that the claim would keep", async () => {
    const scene = setUp();
    const former = await scene.world.until(scene.mutex.acquire({ data: "kept", keepData: true }));
    await scene.world.until(former.release());
    await giveUp(scene, APPLIED, { existingData: "keep" });
    await scene.world.time.advance(1_000);
    expect(scene.world.record("a")?.["holder"]).toBeUndefined();
    expect(scene.world.record("a")?.["data"]).toEqual({ S: "kept" });
  });

  it.each([
    ["native", undefined, {}],
    ["aws-lock-client", awsLockClient(), ATTRIBUTES],
    ["dynamolock", dynamolock(), { ...ATTRIBUTES, existingData: "replace", keepData: false }],
  ] as const)(
    "removes its own data and attributes, and keeps the record: %s",
    async (_, format, options) => {
      const time = new VirtualTime();
      const process = time.process();
      const table = new FaultyTable(new MemoryTable({ time }), process);
      const locks = new Holdfast({
        client: table,
        table: "locks",
        environment: process,
        format,
      } as never);
      table.next("write", APPLIED);
      const data = format === undefined ? "abandoned" : Buffer.from("abandoned");
      const given = mutex(locks, "a").acquire({ wait: "15ms", data, ...options } as never);
      await expect(time.runUntil(given)).rejects.toMatchObject({ code: "unreachable" });
      await time.advance(5_000);
      const { state, data: left, attributes = {} } = await time.runUntil(inspect(locks, "a"));
      expect({ state, left, attributes }).toEqual({
        state: "free",
        left: undefined,
        attributes: {},
      });
    },
  );

  it("ends at a wrong configuration", async () => {
    const scene = setUp();
    await giveUp(scene, LOST);
    await scene.world.time.advance(10);
    const before = scene.network.requests.write;
    const error = new HoldfastError("misconfigured", "No longer.");
    scene.network.script(() => ({ fault: "misconfigured", error }));
    await scene.world.time.advance(60_000);
    expect(scene.network.requests.write).toBe(before + 1);
  });
});

describe("the rollback during the close of the client", () => {
  it.each([
    ["ends the claim", 10],
    ["finds the rollback in a pause", 200],
  ])("is sent until it is answered, when the close %s", async (_, beforeMs) => {
    const { world, locks, network, mutex, process } = setUp();
    // The claim arrives, and then nothing for two seconds.
    network.next("write", APPLIED);
    const given = mutex.acquire({ wait: beforeMs === 10 ? "1h" : "15ms" });
    given.catch(() => undefined);
    await world.time.advance(beforeMs === 10 ? 6 : 12);
    network.script(() => LOST);
    await world.time.advance(beforeMs);
    const closing = locks.close();
    await world.time.advance(2_000);
    expect(world.record("a")?.["holder"]).toBeDefined();
    network.script(() => undefined);
    await world.until(closing);
    expect(world.record("a")?.["holder"]).toBeUndefined();
    const { write } = network.requests;
    await world.time.advance(60_000);
    expect(network.requests.write).toBe(write);
    expect(process.pendingTimers()).toBe(0);
  });

  it("ends with the close timeout if DynamoDB does not answer", async () => {
    const { world, locks, network, mutex, process } = setUp();
    network.script(() => ({ fault: "request-lost", unknownAfterMs: 60_000 }));
    const given = mutex.acquire({ wait: "1h" });
    given.catch(() => undefined);
    await world.time.advance(100);
    const fromMs = world.time.nowMs;
    await world.until(locks.close());
    expect(world.time.nowMs - fromMs).toBeLessThanOrEqual(5_000);
    const { write } = network.requests;
    await world.time.advance(60_000);
    expect(network.requests.write).toBe(write);
    expect(process.pendingTimers()).toBe(0);
  });
});

describe("the rollback of a takeover", () => {
  async function overDead(): Promise<ReturnType<typeof setUp>> {
    const scene = setUp();
    const dead = scene.world.inhabitant();
    await scene.world.until(mutex(dead.locks, "a").acquire({ lease: "1s", data: "left" }));
    dead.process.kill();
    expect(await scene.world.until(scene.mutex.tryAcquire())).toBeNull();
    await scene.world.time.advance(1_100);
    scene.sent.length = 0;
    return scene;
  }

  it.each([LOST, APPLIED])("ends after one applied write (%j)", async (fault) => {
    const scene = await overDead();
    await giveUp(scene, fault);
    await scene.world.time.advance(60_000);
    expect(scene.sent).toHaveLength(1);
    expect(scene.world.record("a")?.["holder"]).toBeUndefined();
  });

  it("leaves the data of the former holder if the takeover never arrived", async () => {
    const scene = await overDead();
    await giveUp(scene, LOST);
    await scene.world.time.advance(60_000);
    expect(scene.world.record("a")?.["data"]).toEqual({ S: "left" });
  });

  it("ends after one applied write despite several sends", async () => {
    const scene = await overDead();
    scene.network.next("write", APPLIED);
    await giveUp(scene, LOST, { wait: "150ms" });
    await scene.world.time.advance(60_000);
    // The second send of the takeover, then the write that frees the record.
    expect(scene.sent).toHaveLength(1);
    expect(scene.world.record("a")?.["holder"]).toBeUndefined();
  });

  it("ends after one refused write", async () => {
    const scene = await overDead();
    scene.network.next("write", LOST);
    const given = scene.mutex.acquire({ wait: "15ms" });
    given.catch(() => undefined);
    const other = { holder: { S: "other" }, version: { N: "9" }, fence: { N: "9999999999999" } };
    scene.world.table.putItem(KEY, { ...scene.world.record("a"), ...other });
    await expect(scene.world.until(given)).rejects.toMatchObject({ code: "unreachable" });
    await scene.world.time.advance(60_000);
    expect(scene.sent).toHaveLength(1);
    expect(scene.world.record("a")?.["holder"]).toEqual({ S: "other" });
  });

  it("continues after an unanswered or throttled write", async () => {
    const scene = await overDead();
    scene.network.next("write", LOST, 2);
    scene.network.next("write", { fault: "throttled" });
    const given = scene.mutex.acquire({ wait: "15ms" });
    await expect(scene.world.until(given)).rejects.toMatchObject({ code: "unreachable" });
    await scene.world.time.advance(60_000);
    // The third send; the first two met the faults.
    expect(scene.sent).toHaveLength(1);
    expect(scene.world.record("a")?.["holder"]).toBeUndefined();
  });
});

describe("after half of a lease without an answer", () => {
  /** An acquisition of which DynamoDB receives nothing in the first `awayMs`. */
  function acquiring(awayMs: number, wait = Number.POSITIVE_INFINITY) {
    const world = new World();
    const who = fixedProcess(world, { lease: "10s", renew: "manual" });
    const sent: { readonly atMs: number; readonly write: Write | undefined }[] = [];
    who.network.script((request) => {
      const write = request.kind === "write" ? request.write : undefined;
      sent.push({ atMs: world.time.nowMs, write });
      return world.time.nowMs < awayMs ? LOST : undefined;
    });
    const acquired = mutex(who.locks, "a").acquire({ wait });
    return { world, sent, acquired };
  }

  it("the waiter and the rollback pause for half of a lease", async () => {
    const { world, sent } = acquiring(60_000);
    await world.time.advance(20_000);
    const reads = sent.filter(({ write }) => write === undefined).map(({ atMs }) => atMs);
    const [first = 0] = reads;
    expect(first).toBeLessThan(7_000);
    expect(reads).toEqual([first, first + 5_010, first + 10_020]);
    const writes = sent.filter(({ write }) => write !== undefined).map(({ atMs }) => atMs);
    expect(writes.filter((atMs) => atMs >= first)).toEqual([first + 5_000]);
  });

  it("the rollback sends nothing while the client holds the record", async () => {
    const { world, sent, acquired } = acquiring(5_000);
    await world.until(acquired);
    const before = sent.length;
    await world.time.advance(9_000);
    expect(sent).toHaveLength(before);
  });

  it("the rollback frees a claim applied after the release", async () => {
    // The pauses of the rollback are a quarter of the wait.
    const { world, sent, acquired } = acquiring(5_000, 12_000);
    const lease = await world.until(acquired);
    await world.time.advance(4_000);
    await world.until(lease.release());
    const [claim] = sent;
    if (claim?.write === undefined) throw new Error("The first request was no claim.");
    expect(world.table.apply(claim.write).kind).toBe("applied");
    await world.time.advance(3_000);
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });
});

describe("a closing client", () => {
  it.each([1_000, 2_000, 3_200, 4_500])(
    "undoes a claim as soon as the table answers again, after %i ms",
    async (downMs) => {
      const { world, locks, network } = inWorld({ lease: "30s" });
      network.next("write", APPLIED);
      const given = mutex(locks, "a").acquire({ wait: "1h" });
      given.catch(() => undefined);
      await world.time.advance(6);
      network.script(() => LOST);
      await world.time.advance(10);
      const closing = locks.close();
      await world.time.advance(downMs);
      network.clear();
      await world.time.advance(250);
      expect(world.record("a")?.["holder"]).toBeUndefined();
      await world.until(closing);
    },
  );

  it.each([0, 2_000, 4_000])(
    "does not wait for the undo of a claim behind a term, whose body ends after %i ms",
    async (bodyMs) => {
      const { world, locks, network, process } = inWorld({ lease: "30s", closeTimeout: "10s" });
      network.script(({ kind }) =>
        kind === "write" && world.time.nowMs < 19_000
          ? { ...LOST, unknownAfterMs: 100 }
          : undefined,
      );
      let endedMs = 0;
      void election(locks, "e").lead(async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        await new Promise<void>((resolve) => process.timers.set(bodyMs, true, resolve));
        endedMs = world.time.nowMs;
      });
      await world.time.advance(24_000);
      await world.until(locks.close());
      expect(endedMs).toBeGreaterThan(0);
      expect(world.time.nowMs - endedMs).toBeLessThan(500);
    },
  );
});
