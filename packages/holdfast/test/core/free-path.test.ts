import { describe, expect, it } from "vitest";
import { memoryClient } from "../../../testing/src/dynamodb/client.js";
import { MemoryDynamoDB } from "../../../testing/src/dynamodb/memory-dynamodb.js";
import { Holdfast, type Lease, mutex } from "../../src/index.js";
import { createTable } from "../../src/table/index.js";

const EPOCH_MS = Date.parse("2026-01-01T00:00:00Z");

/** What a step has read and set. */
interface Counts {
  boot: number;
  monotonic: number;
  wall: number;
  timers: number;
  cancelled: number;
  ids: number;
}

const none = (): Counts => ({ boot: 0, monotonic: 0, wall: 0, timers: 0, cancelled: 0, ids: 0 });

/** A client over the SDK and a server in memory, whose clocks, timers and ids are counted. */
async function setUp() {
  const client = memoryClient(new MemoryDynamoDB({ nowMs: () => EPOCH_MS }), {
    wallMs: () => EPOCH_MS,
  });
  await createTable({ client, table: "locks" });
  const counts = none();
  const read = (which: "boot" | "monotonic" | "wall", ms: number) => () => {
    counts[which] += 1;
    return ms;
  };
  const clock = {
    bootMs: read("boot", 5_000),
    monotonicMs: read("monotonic", 1_000),
    wallMs: read("wall", EPOCH_MS),
    bootStepMs: 10,
  };
  const timers = {
    set: () => {
      counts.timers += 1;
      return {
        cancel: () => {
          counts.cancelled += 1;
        },
      };
    },
  };
  const id = (): string => {
    counts.ids += 1;
    return `id ${counts.ids} ${ids++}`;
  };
  let ids = 0;
  const environment = { clock, timers, random: { id, fraction: () => 0.5 } };
  const locks = new Holdfast({ client, table: "locks", environment });
  /** Counts one step. */
  const counted = async <T>(step: () => T | Promise<T>): Promise<[T, Counts]> => {
    Object.assign(counts, none());
    const result = await step();
    return [result, { ...counts }];
  };
  // The client then knows the table's time, as each client does from its second lock on.
  await (await mutex(locks, "first").acquire()).release();
  return { lock: mutex(locks, "a"), counted };
}

// To read the boot clock is the most expensive step of the library's own: Node.js opens a file for it. These counts may
// fall. If one grows, the free path has become slower.
describe("the free path", () => {
  it("reads the boot clock three times an acquire: before the send, at the answer, for the lease", async () => {
    const { lock, counted } = await setUp();
    const [lease, counts] = await counted(() => lock.acquire());
    expect(counts).toEqual({ boot: 3, monotonic: 14, wall: 5, timers: 3, cancelled: 2, ids: 1 });
    expect(lease.isHeld).toBe(true);
  });

  it("sets one timer less for a try, which does not wait", async () => {
    const { lock, counted } = await setUp();
    const [lease, counts] = await counted(() => lock.tryAcquire());
    expect(counts).toEqual({ boot: 3, monotonic: 12, wall: 5, timers: 2, cancelled: 1, ids: 1 });
    expect(lease?.isHeld).toBe(true);
  });

  it("reads the boot clock three times a release: for the lease, before the send, at the answer", async () => {
    const { lock, counted } = await setUp();
    const lease = await lock.acquire();
    const [, counts] = await counted(() => lease.release());
    expect(counts).toEqual({ boot: 3, monotonic: 8, wall: 5, timers: 2, cancelled: 3, ids: 0 });
  });

  it("reads the boot clock five times a renewal", async () => {
    const { lock, counted } = await setUp();
    const lease = await lock.acquire();
    const [, counts] = await counted(() => lease.renew());
    expect(counts).toEqual({ boot: 5, monotonic: 9, wall: 6, timers: 1, cancelled: 1, ids: 1 });
  });

  it.each([
    ["isHeld", (lease: Lease) => lease.isHeld],
    ["remainingMs()", (lease: Lease) => lease.remainingMs()],
    ["assertHeld()", (lease: Lease) => lease.assertHeld()],
  ])("reads each clock once at every %s", async (_, check) => {
    const { lock, counted } = await setUp();
    const lease = await lock.acquire();
    for (let times = 0; times < 3; times += 1) {
      const [, counts] = await counted(() => check(lease));
      expect(counts).toEqual({ ...none(), boot: 1, monotonic: 1, wall: 1 });
    }
  });
});
