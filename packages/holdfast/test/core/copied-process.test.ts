import { describe, expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { FaultyTable } from "../../../testing/src/faults/faults.js";
import { all, exportLease, fairLock, Holdfast, mutex, openSession } from "../../src/index.js";

const OPTIONS = { lease: "10s", poll: { min: "100ms", max: "800ms" } } as const;
const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };

// The ids of the lock, of two locks, or of the session and its holder.
const SAME_IDS = ["drawn by both 1", "drawn by both 2"];

/** Processes restored from one snapshot; their first two ids are equal. */
function copies(world: World, latencyMs = 0) {
  return ["one", "two"].map((name, index) => {
    const process = world.time.process();
    const oneWayMs = index * latencyMs;
    const latency = () => ({ requestMs: oneWayMs, responseMs: oneWayMs });
    const network = new FaultyTable(world.table, process, { latency });
    let drawn = 0;
    const id = (): string => {
      drawn += 1;
      return SAME_IDS[drawn - 1] ?? `${name} ${drawn}`;
    };
    const { clock, timers } = process;
    const environment = { clock, timers, random: { id, fraction: () => 0.5 } };
    const locks = new Holdfast({ client: network, table: "locks", ...OPTIONS, environment });
    return { locks, network, process };
  }) as [Copy, Copy];
}

interface Copy {
  readonly locks: Holdfast;
  readonly network: FaultyTable;
  readonly process: ReturnType<World["time"]["process"]>;
}

interface Taken {
  readonly isHeld: boolean;
  release(): Promise<void>;
}

/** Each case's time until its claim is in flight, with 50 ms a request. */
const TAKERS: readonly [string, number, (locks: Holdfast) => Promise<Taken | null>][] = [
  ["a mutex", 20, (locks) => mutex(locks, "a").tryAcquire()],
  ["a fair lock", 20, (locks) => fairLock(locks, "a").tryAcquire()],
  ["several locks", 120, (locks) => all(locks, ["a", "b"]).tryAcquire()],
];

describe("processes that draw the same ids", () => {
  it.each(TAKERS)("refuse %s to the second process", async (_, afterMs, take) => {
    const world = new World();
    const [first, second] = copies(world, 50);
    // The second process sends its claim before it has observed the record.
    const trying = take(second.locks);
    await world.time.advance(afterMs);
    const held = (await world.until(take(first.locks))) as Taken;
    expect(await world.until(trying)).toBeNull();
    // The second process must neither undo the grant, nor treat it as an abandoned grant of its own.
    for (let tries = 0; tries < 5; tries += 1) {
      await world.time.advance(6_000);
      expect(await world.until(take(second.locks))).toBeNull();
    }
    expect(held.isHeld).toBe(true);
    await world.until(held.release());
    await world.time.advance(1_000);
    expect((await world.until(take(second.locks)))?.isHeld).toBe(true);
  });

  it("take over only after the watch of a lease", async () => {
    const world = new World();
    const [first, second] = copies(world);
    const held = await world.until(mutex(first.locks, "a").acquire());
    expect(await world.until(mutex(second.locks, "a").tryAcquire())).toBeNull();
    first.process.kill();
    const fromMs = world.time.nowMs;
    const next = await world.until(mutex(second.locks, "a").acquire({ wait: "1m" }));
    expect(next.fence).toBe(held.fence + 1n);
    expect(world.time.nowMs - fromMs).toBeGreaterThan(10_000);
  });

  it("open separate sessions", async () => {
    const world = new World();
    const [first, second] = copies(world);
    const one = await world.until(openSession(first.locks));
    const other = await world.until(openSession(second.locks));
    expect(one.id).not.toBe(other.id);
    await world.until(mutex(second.locks, "a", { session: other }).acquire());
    await world.until(other.close());
    await world.time.advance(30_000);
    expect(one.isHeld).toBe(true);
  });
});

describe("a client whose SDK repeats a request", () => {
  it("recognises its own grant by the id", async () => {
    const world = new World();
    const [{ locks, network }] = copies(world);
    network.next("write", { fault: "response-lost-and-retried" });
    const lease = await world.until(mutex(locks, "a").tryAcquire());
    expect(lease?.holder).toBe(SAME_IDS[0]);
  });
});

describe("a hold whose next id was drawn by another process", () => {
  /** The record comes to name the holder's next id, without a write of the holder. */
  async function scene() {
    const world = new World();
    const [{ locks }] = copies(world);
    const lease = await world.until(mutex(locks, "a").acquire());
    const takenBy = { holder: { S: SAME_IDS[1] as string }, fence: { N: `${lease.fence + 1n}` } };
    return { world, locks, lease, takenBy };
  }

  it("does not hand off the other process's grant", async () => {
    const { world, locks, lease, takenBy } = await scene();
    const waiting = mutex(locks, "a").acquire({ wait: "5s" });
    await world.time.advance(50);
    world.table.putItem(KEY, { ...world.record("a"), ...takenBy });
    await world.until(lease.release());
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "stolen" });
    await expect(world.until(waiting)).rejects.toMatchObject({ code: "not-acquired" });
  });

  it("does not export the other process's grant", async () => {
    const { world, lease, takenBy } = await scene();
    world.table.putItem(KEY, { ...world.record("a"), ...takenBy });
    await expect(world.until(exportLease(lease))).rejects.toMatchObject({ reason: "stolen" });
  });
});
