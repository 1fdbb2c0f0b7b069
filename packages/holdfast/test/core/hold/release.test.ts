import { describe, expect, it } from "vitest";
import { type FixedOptions, fixedProcess } from "../../../../../test/support/fixed.js";
import { World } from "../../../../../test/support/world.js";
import { releaseByHolder } from "../../../src/admin/index.js";
import { type AcquireOptions, type HoldfastError, type Lease, mutex } from "../../../src/index.js";
import type { WriteAnswer } from "../../../src/platform/table.js";

const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const THROTTLED = { fault: "throttled" } as const;
const SILENT = { fault: "request-lost", unknownAfterMs: 10 } as const;
const OPTIONS: AcquireOptions = { lease: "10s", renew: "manual" };

async function setUp(options: FixedOptions = {}) {
  const world = new World();
  const who = fixedProcess(world, { ...OPTIONS, ...options });
  const lock = mutex(who.locks, "a");
  const lease = await world.until(lock.acquire());
  return { world, ...who, mutex: lock, lease };
}

/** Makes the record name a thief with a lease of this length. */
function steal(world: World, leaseMs = 1_000): void {
  const thief = { holder: { S: "thief" }, fence: { N: "9" }, leaseMs: { N: String(leaseMs) } };
  world.table.putItem(KEY, { ...world.record("a"), ...thief });
}

/** Counts the writes that left the record without a holder. */
const timesFree = (world: World): number =>
  world.table.log.filter(({ after }) => after !== undefined && after["holder"] === undefined)
    .length;

const ignored = <T>(promise: Promise<T>): Promise<T> => {
  promise.catch(() => undefined);
  return promise;
};

describe("at the limit on local hand-offs", () => {
  it("a process with waiters pauses for a poll before the next claim", async () => {
    const { world, mutex, lease } = await setUp({ maxLocalHandoffs: 1 });
    const [second, third] = [mutex.acquire(), mutex.acquire()];
    await world.until(lease.release());
    const handedOver = await world.until(second);
    expect(timesFree(world)).toBe(0);
    await world.until(handedOver.release());
    expect(timesFree(world)).toBe(1);
    await world.until(third);
    expect(world.time.nowMs).toBe(100);
  });

  it("a process without waiters claims again at once", async () => {
    const { world, mutex, lease } = await setUp({ maxLocalHandoffs: 1 });
    const second = mutex.acquire();
    await world.until(lease.release());
    await world.until((await world.until(second)).release());
    await world.until(mutex.acquire());
    expect(world.time.nowMs).toBe(0);
  });
});

describe("a release of a free record", () => {
  it("reports no loss when a hidden first send freed the record", async () => {
    const { world, lease, network } = await setUp({
      through: (faulty) => ({
        // A client with hidden retries.
        write: async (...given): Promise<WriteAnswer> => {
          const answer = await faulty.write(...given);
          return answer.kind === "refused" ? { kind: "refused", item: answer.item } : answer;
        },
      }),
    });
    network.next("write", { fault: "response-lost-and-retried" });
    await world.until(lease.release());
    expect(timesFree(world)).toBe(1);
    expect(lease.signal.aborted).toBe(false);
  });

  it("reports a loss when another client acquired the lock after a forced release", async () => {
    const { world, lease } = await setUp();
    const other = world.inhabitant();
    await world.until(releaseByHolder(other.locks, "a", lease.holder));
    await world.until(mutex(other.locks, "a").acquire());
    await world.until(lease.release());
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "stolen" });
  });
});

describe("a release by holder", () => {
  it.each([
    ["lost", { fault: "response-lost" }],
    ["sent again by the SDK", { fault: "response-lost-and-retried" }],
  ] as const)("says that it freed the record if its request was %s", async (_, fault) => {
    const { world, lease } = await setUp();
    const other = world.inhabitant();
    other.network.next("write", fault);
    expect(await world.until(releaseByHolder(other.locks, "a", lease.holder))).toBe(true);
    expect(await world.until(releaseByHolder(other.locks, "a", lease.holder))).toBe(false);
  });
});

describe("a hand-off", () => {
  it("ends at once when the record names another holder, and the waiter contends", async () => {
    const { world, mutex, lease, network } = await setUp();
    const waiting = mutex.acquire();
    steal(world);
    await world.until(lease.release());
    // The claim, the hand-off, and the waiter's claim.
    expect(network.requests.write).toBe(3);
    expect(lease.signal.reason).toMatchObject({ reason: "stolen" });
    const next = await world.until(waiting);
    expect(next.fence).toBe(10n);
    expect(world.time.nowMs).toBeGreaterThanOrEqual(1_020);
  });

  // rule: protocol 14, protocol 35
  it("gives no waiter a lease of which less than a fifth is left after a pause", async () => {
    const { world, mutex, lease, process } = await setUp();
    const waiting = mutex.acquire();
    const released = lease.release();
    process.pause();
    await world.time.advance(9_500);
    process.resume({ first: "io" });
    const next = await world.until(waiting);
    await world.until(released);
    expect(next.remainingMs()).toBeGreaterThan(2_000);
  });

  it("lets all waiters contend in order when the record names another holder", async () => {
    const { world, mutex, lease } = await setUp();
    const order: string[] = [];
    const waiting = ["one", "two"].map((name) => mutex.run(() => order.push(name)));
    steal(world);
    await world.until(lease.release());
    await world.until(Promise.all(waiting));
    expect(order).toEqual(["one", "two"]);
  });

  it("reports the loss when the record names another holder after a throttled send", async () => {
    const { world, mutex, lease, network } = await setUp();
    ignored(mutex.acquire());
    steal(world);
    network.next("write", THROTTLED);
    await world.until(lease.release());
    expect(lease.signal.reason).toMatchObject({ reason: "stolen" });
  });

  // The hand-off may have succeeded and been lost since: the former lease may have ended well.
  it("reports no loss when the record names another holder after an unanswered send", async () => {
    const { world, mutex, lease, network } = await setUp();
    ignored(mutex.acquire());
    network.next("write", SILENT);
    const releasing = lease.release();
    await world.time.advance(20);
    steal(world);
    await world.until(releasing);
    expect(lease.signal.aborted).toBe(false);
  });

  it("reports no loss of the former lease when another client takes over from a cancelled waiter", async () => {
    const { world, mutex, lease, network } = await setUp();
    const cancel = new AbortController();
    ignored(mutex.acquire({ signal: cancel.signal }));
    network.next("write", { fault: "delayed", delayMs: 100 });
    const releasing = lease.release();
    await world.time.advance(50);
    cancel.abort();
    steal(world);
    await world.until(releasing);
    expect(world.record("a")?.["holder"]).toEqual({ S: "thief" });
    expect(lease.signal.aborted).toBe(false);
  });

  it("succeeds after throttled sends", async () => {
    const { world, mutex, lease, network } = await setUp();
    const waiting = mutex.acquire();
    network.next("write", THROTTLED, 2);
    await world.until(lease.release());
    await world.until(waiting);
    expect(timesFree(world)).toBe(0);
    expect(world.time.nowMs).toBe(200);
  });

  it("continues with the next waiter after a cancel, without freeing the lock", async () => {
    const { world, mutex, lease, network } = await setUp();
    const cancel = new AbortController();
    ignored(mutex.acquire({ signal: cancel.signal }));
    const second = mutex.acquire();
    network.next("write", { fault: "request-lost", unknownAfterMs: 100 });
    const releasing = lease.release();
    await world.time.advance(50);
    cancel.abort();
    await world.until(releasing);
    await world.until(second);
    expect(timesFree(world)).toBe(0);
    expect(network.requests.write).toBe(3);
  });

  it("retries for half of the lease, and then lets the waiter claim", async () => {
    const { world, mutex, lease, network } = await setUp();
    const waiting = mutex.acquire({ wait: "60s" });
    network.script(() => (world.time.nowMs < 6_000 ? SILENT : undefined));
    await world.until(ignored(lease.release()).catch(() => undefined));
    const next = await world.until(waiting);
    expect(timesFree(world)).toBe(1);
    expect(next.remainingMs()).toBe(9_790);
  });

  it("is too late when the answer arrives at the instant of the deadline", async () => {
    const { world, mutex, lease, network, process } = await setUp();
    const waiting = mutex.acquire({ wait: "60s" });
    network.next("write", { fault: "delayed", delayMs: 10 });
    const releasing = ignored(lease.release());
    await world.time.advance(5);
    process.pause();
    await world.time.advance(9_785);
    process.resume({ first: "io" });
    const next = await world.until(waiting);
    expect(next.remainingMs()).toBeGreaterThan(9_000);
    await world.until(releasing.catch(() => undefined));
  });

  it("retries the release for the longer of two leases without an answer", async () => {
    const { world, mutex, lease, network } = await setUp({ lease: "1s", requestTimeout: "10s" });
    const cancel = new AbortController();
    ignored(mutex.acquire({ lease: "10s", signal: cancel.signal }));
    network.script(() => SILENT);
    const releasing = lease.release().catch((error: HoldfastError) => error.code);
    await world.time.advance(50);
    cancel.abort();
    expect(await world.until(releasing)).toBe("outcome-unknown");
    expect(world.time.nowMs).toBeGreaterThanOrEqual(10_000);
    expect(world.time.nowMs).toBeLessThan(10_200);
  });
});

describe("a release in an outage, while callers give up after a second", () => {
  it("frees the lock within a second after the outage", async () => {
    const { world, network, mutex, lease } = await setUp({ lease: "30s" });
    network.script(() => SILENT);
    ignored(lease.release());
    for (let callers = 0; callers < 900; callers += 1) {
      ignored(mutex.acquire({ wait: "1s" }));
      await world.time.advance(20);
    }
    await world.time.advance(1_500);
    network.clear();
    await world.time.advance(1_000);
    expect(timesFree(world)).toBe(1);
  });
});

describe("the single attempt to free an expired lease", () => {
  async function ranOut(): Promise<Awaited<ReturnType<typeof setUp>> & { readonly over: Lease }> {
    const scene = await setUp();
    await scene.world.time.advance(10_000);
    expect(scene.lease.isHeld).toBe(false);
    return { ...scene, over: scene.lease };
  }

  it("changes no observation without an answer", async () => {
    const { world, mutex, network, over } = await ranOut();
    network.next("write", SILENT);
    await world.until(over.release());
    const seen = await world.requests(() => mutex.acquire());
    expect(seen).toMatchObject({ writes: 1, reads: 0 });
  });

  it("starts a watch of the current holder after a refusal", async () => {
    const { world, mutex, over } = await ranOut();
    steal(world, 5_000);
    await world.until(over.release());
    await world.time.advance(5_100);
    const seen = await world.requests(() => mutex.acquire());
    expect(seen).toMatchObject({ writes: 1, reads: 0 });
    expect(seen.result.fence).toBe(10n);
  });
});
