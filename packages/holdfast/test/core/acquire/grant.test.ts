import { describe, expect, it } from "vitest";
import { type FixedOptions, fixedProcess } from "../../../../../test/support/fixed.js";
import { World } from "../../../../../test/support/world.js";
import { type AcquireOptions, inspect, mutex } from "../../../src/index.js";
import type { WriteAnswer } from "../../../src/platform/table.js";

const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const THROTTLED = { fault: "throttled" } as const;
const SILENT = { fault: "request-lost", unknownAfterMs: 10 } as const;
const OPTIONS: AcquireOptions = { lease: "10s", poll: { min: "100ms", max: "800ms" } };

function setUp(options: FixedOptions = {}) {
  const world = new World();
  return { world, ...fixedProcess(world, { ...OPTIONS, ...options }) };
}

const isFree = (world: World): boolean =>
  world.record("a") !== undefined && world.record("a")?.["holder"] === undefined;

/** The record of a dead holder, and the id of the holder. */
async function deadHolder(world: World, lease = "10s"): Promise<string> {
  const dead = world.inhabitant();
  const { holder } = await world.until(mutex(dead.locks, "a").acquire({ lease }));
  dead.process.kill();
  return holder;
}

describe("a claim without an answer", () => {
  it("is retried after pauses that double up to the longest poll", async () => {
    const { world, locks, network } = setUp();
    const sent: number[] = [];
    network.script((request) => {
      if (request.kind === "write") sent.push(world.time.nowMs);
      return THROTTLED;
    });
    const acquiring = mutex(locks, "a").acquire({ wait: 3_000 });
    await expect(world.until(acquiring)).rejects.toMatchObject({ code: "throttled" });
    expect(sent).toEqual([0, 100, 300, 700, 1_500, 2_300]);
  });

  it("counts the lease from the acknowledged send if no earlier send can have been applied", async () => {
    const { world, locks, network } = setUp();
    network.next("write", THROTTLED, 3);
    const lease = await world.until(mutex(locks, "a").acquire());
    expect(world.time.nowMs).toBe(700);
    expect(lease.remainingMs()).toBe(9_790);
  });

  it("counts the lease from the first send if the first send can have been applied", async () => {
    const { world, locks, network } = setUp();
    network.next("write", SILENT, 2);
    const lease = await world.until(mutex(locks, "a").acquire());
    expect(world.time.nowMs).toBe(320);
    expect(lease.remainingMs()).toBe(9_790 - 320);
  });

  it("is abandoned for a strong read after half of the lease, then sent anew", async () => {
    const { world, locks, network } = setUp();
    const sent: [kind: string, atMs: number][] = [];
    network.script((request) => {
      sent.push([request.kind, world.time.nowMs]);
      if (request.kind === "read") expect(request.read.consistent).toBe(true);
      return request.kind === "write" && world.time.nowMs < 5_000 ? SILENT : undefined;
    });
    const lease = await world.until(mutex(locks, "a").acquire());
    const reads = sent.filter(([kind]) => kind === "read").map(([, atMs]) => atMs);
    expect(reads).toHaveLength(1);
    expect(reads[0]).toBeGreaterThanOrEqual(4_790);
    expect(reads[0]).toBeLessThan(6_000);
    expect(lease.remainingMs()).toBe(9_790);
  });

  it("does not end an attempt without a wait at the first throttled answer", async () => {
    const { world, locks, network } = setUp();
    await world.time.advance(1_000);
    network.next("write", THROTTLED, 2);
    expect((await world.until(mutex(locks, "a").tryAcquire()))?.isHeld).toBe(true);
    expect(world.time.nowMs).toBe(1_300);
  });

  it("ends an attempt without a wait after the request timeout", async () => {
    const { world, locks, network } = setUp({ requestTimeout: 1_000 });
    network.script(() => THROTTLED);
    const trying = mutex(locks, "a").tryAcquire();
    await expect(world.until(trying)).rejects.toMatchObject({ code: "throttled" });
    expect(world.time.nowMs).toBe(1_500);
  });
});

describe("an applied grant without a lease", () => {
  it("is rolled back if the acquisition is cancelled at the instant of the answer", async () => {
    const cancel = new AbortController();
    const { world, locks } = setUp({
      through: (network) => ({
        write: async (...given) => {
          const answer = await network.write(...given);
          cancel.abort("no longer wanted");
          return answer;
        },
      }),
    });
    const acquiring = mutex(locks, "a").acquire({ signal: cancel.signal });
    await expect(world.until(acquiring)).rejects.toBe("no longer wanted");
    await world.time.advance(10);
    expect(isFree(world)).toBe(true);
  });

  it("is claimed anew if the answer arrives exactly at the deadline", async () => {
    const { world, locks, network, process } = setUp();
    network.next("write", { fault: "delayed", delayMs: 20 });
    const acquiring = mutex(locks, "a").acquire();
    await world.time.advance(10);
    process.pause();
    await world.time.advance(9_780);
    process.resume({ first: "io" });
    const lease = await world.until(acquiring);
    expect(lease.remainingMs()).toBeGreaterThan(9_000);
  });

  // Each of the two sends of a blind claim can be applied. The second send is applied and acknowledged too late.
  it("is searched until every send is rolled back", async () => {
    const { world, locks, network, process } = setUp({ lease: "2s", wait: 1_500 });
    network.next("write", { fault: "applied-late", delayMs: 3_000, unknownAfterMs: 10 });
    network.next("write", { fault: "delayed", delayMs: 20 });
    const acquiring = mutex(locks, "a").acquire();
    const outcome = acquiring.catch((error: { code: string }) => error.code);
    await world.time.advance(120);
    process.pause();
    await world.time.advance(2_400);
    process.resume({ first: "io" });
    expect(await world.until(outcome)).toBe("not-acquired");
    await world.time.advance(100);
    expect(isFree(world)).toBe(true);
    await world.time.advance(400);
    expect(world.table.log.at(-1)?.after?.["holder"]).toBeDefined();
    await world.time.advance(1_200);
    expect(isFree(world)).toBe(true);
  });

  it("is searched if the SDK sent the write twice and the answer shows another holder", async () => {
    const { world, locks, network } = setUp();
    await deadHolder(world);
    network.next("write", { fault: "response-lost-and-retried" });
    expect(await world.until(mutex(locks, "a").tryAcquire())).toBeNull();
    await world.time.advance(1_000);
    // One claim, and the rollback of the second send, which may still arrive.
    expect(network.requests.write).toBeGreaterThan(2);
  });

  it("is not searched after a refusal of a single send", async () => {
    const { world, locks, network } = setUp();
    await deadHolder(world);
    expect(await world.until(mutex(locks, "a").tryAcquire())).toBeNull();
    await world.time.advance(20_000);
    expect(network.requests.write).toBe(1);
  });
});

describe("an attempt on a record that has gone", () => {
  it("claims the lock if the record of the dead holder has gone", async () => {
    const { world, locks } = setUp();
    await deadHolder(world, "1s");
    expect(await world.until(mutex(locks, "a").tryAcquire())).toBeNull();
    await world.time.advance(1_100);
    world.table.deleteItem(KEY);
    expect((await world.until(mutex(locks, "a").acquire())).isHeld).toBe(true);
  });

  it("rejects with misconfigured if the table refuses a claim and shows no record", async () => {
    let isSilent = true;
    const { world, locks } = setUp({
      lease: "1s",
      through: () => ({
        read: async () => {
          isSilent = false;
          return { kind: "found", item: undefined };
        },
        scan: () => Promise.reject(new Error("Nothing is listed.")),
        query: () => Promise.reject(new Error("Nothing is queried.")),
        remove: () => Promise.reject(new Error("Nothing is removed.")),
        write: async (): Promise<WriteAnswer> =>
          isSilent
            ? { kind: "unknown", cause: new Error("silent") }
            : { kind: "refused", item: undefined },
      }),
    });
    await expect(world.until(mutex(locks, "a").acquire())).rejects.toMatchObject({
      code: "misconfigured",
    });
  });
});

describe("a reclaim that is abandoned without an answer", () => {
  it.each(["response-lost", "request-lost"] as const)(
    "is settled by one write, whichever of the two ids the record names (%s)",
    async (fault) => {
      const { world, locks, network } = setUp();
      // The process finds its own abandoned id in the table and takes over at once.
      network.next("write", { fault: "response-lost", unknownAfterMs: 10 });
      network.next("write", { fault: "request-lost", unknownAfterMs: 10 });
      const given = mutex(locks, "a").acquire({ wait: "5ms" });
      await expect(world.until(given)).rejects.toMatchObject({ code: "unreachable" });
      expect(await world.until(inspect(locks, "a"))).toMatchObject({ state: "held" });
      network.next("write", { fault, unknownAfterMs: 10 });
      const reclaiming = mutex(locks, "a").acquire({ wait: "5ms" });
      await expect(world.until(reclaiming)).rejects.toMatchObject({ code: "unreachable" });
      await world.time.advance(20);
      expect(isFree(world)).toBe(true);
    },
  );
});
