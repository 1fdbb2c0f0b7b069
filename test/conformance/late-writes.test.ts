import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { releaseByHolder } from "../../packages/holdfast/src/admin/index.js";
import { type Duration, mutex } from "../../packages/holdfast/src/index.js";
import { BadNetworks } from "../support/bad-network.js";
import { describeOnOneServer } from "../support/dynamodb-local.js";
import { eventually, pause } from "../support/sdk.js";
import { WAYS, type Way } from "../support/ways.js";

const MANUAL = { lease: "2s", renew: "manual", wait: "300ms", poll: { min: "10ms" } } as const;
// On a healthy network, a busy machine alone may take long.
const CALM = { ...MANUAL, wait: "10s" } as const;
const LATE = { fault: "applied-late", delayMs: 600, how: "hang" } as const;
// For a release, which the client must send again and hear of: on a busy machine an answer may take a second.
const PATIENT = { requestTimeout: "2s" } as const;
const LATER = { ...LATE, delayMs: 3_000 } as const;

// The network delays a request until its client has stopped waiting for the answer.
describeOnOneServer("a write applied after an abort by the caller", (endpoint) => {
  describe.each(WAYS)("$way", (way) => declare(endpoint, way));
});

function declare(endpoint: () => string, way: Way): void {
  let networks: BadNetworks;
  beforeAll(async () => {
    networks = await BadNetworks.open(endpoint(), way);
  });
  afterAll(() => networks.close());

  /** One client behind a slow network, and one with a direct connection. */
  async function two(options: { requestTimeout: Duration } = { requestTimeout: "400ms" }) {
    const network = await networks.network();
    const victim = network.locker(options);
    return { network, victim, other: networks.locker() };
  }

  // rule: R14, protocol 39
  it.concurrent("leaves no holder behind after a late claim", async () => {
    const { network, victim } = await two();
    network.nextWrites("claim", LATE, 20);
    const acquiring = mutex(victim.locks, "claim").acquire(MANUAL);
    await expect(acquiring).rejects.toMatchObject({ code: "unreachable" });
    expect(await networks.record("claim")).toBeUndefined();
    network.proxy.clear();
    await eventually(async () => (await networks.record("claim")) !== undefined);
    // The late claim was applied. Its client frees the record: there is no rival.
    await eventually(() => networks.isFree("claim"));
  });

  // rule: R14, protocol 38
  it.concurrent("is refused for a late takeover", async () => {
    const { network, victim, other } = await two();
    const dead = await mutex(other.locks, "takeover").acquire({ ...CALM, lease: "200ms" });
    const lock = mutex(victim.locks, "takeover");
    expect(await lock.tryAcquire()).toBeNull();
    await pause(210);
    network.nextWrites("takeover", LATE, 1);
    await expect(lock.acquire(MANUAL)).rejects.toMatchObject({ code: "unreachable" });
    // The rollback names the watched holder, so the record is free at once.
    await eventually(() => networks.isFree("takeover"));
    const fence = (await networks.record("takeover"))?.["fence"];
    expect(fence).toEqual({ N: dead.fence.toString() });
    await network.proxy.settled();
    expect(await networks.record("takeover")).toMatchObject({ fence, lastHolder: {} });
    expect(await networks.isFree("takeover")).toBe(true);
  });

  it.concurrent("changes nothing for the next holder after a late renewal or update", async () => {
    for (const write of ["renewal", "update"] as const) {
      const { network, victim, other } = await two();
      const lease = await mutex(victim.locks, write).acquire({ ...CALM, lease: "500ms" });
      network.nextWrites(write, LATE, 20);
      const writing = write === "renewal" ? lease.renew() : lease.update("late");
      await expect(writing).rejects.toMatchObject({ code: "lost", reason: "expired" });
      network.proxy.clear();
      // By its id, since nobody has to wait for a holder that is known to have given up.
      await releaseByHolder(other.locks, write, lease.holder);
      const next = await mutex(other.locks, write).acquire(CALM);
      const before = await networks.record(write);
      await network.proxy.settled();
      expect(await networks.record(write)).toEqual(before);
      expect(next.isHeld).toBe(true);
    }
  });

  it.concurrent("frees no lease of another client after a late release", async () => {
    const { network, victim, other } = await two(PATIENT);
    const lease = await mutex(victim.locks, "release").acquire({ ...CALM, lease: "1m" });
    network.nextWrites("release", LATER, 1);
    await lease.release();
    expect(lease.signal.aborted).toBe(false);
    const next = await mutex(other.locks, "release").acquire(CALM);
    const before = await networks.record("release");
    await network.proxy.settled();
    expect(await networks.record("release")).toEqual(before);
    expect(next.fence).toBe(lease.fence + 1n);
  });

  it.concurrent("leaves no holder behind after a late hand-off to an aborted waiter", async () => {
    const { network, victim } = await two(PATIENT);
    const lock = mutex(victim.locks, "handed", { lease: "1m" });
    const first = await lock.acquire({ ...CALM, lease: "1m" });
    const abort = new AbortController();
    const second = lock.acquire({ ...CALM, lease: "1m", signal: abort.signal });
    await pause(1);
    network.nextWrites("handed", LATER, 1);
    const released = first.release();
    abort.abort(new Error("changed my mind"));
    await expect(second).rejects.toThrow("changed my mind");
    await released;
    expect(await networks.isFree("handed")).toBe(true);
    await network.proxy.settled();
    expect(await networks.isFree("handed")).toBe(true);
    expect(await networks.record("handed")).toMatchObject({ fence: { N: first.fence.toString() } });
  });

  it.concurrent("does not delay the client after the abort", async () => {
    const { network, victim } = await two();
    network.nextWrites("own", { ...LATE, delayMs: 400 }, 1);
    network.nextWrites("own", { fault: "request-lost", how: "hang" }, 3);
    // Longer than the wait below: a client that did not know its own claim would watch it for a lease.
    const long = { ...MANUAL, lease: "1m" } as const;
    await expect(mutex(victim.locks, "own").acquire(long)).rejects.toMatchObject({
      code: "unreachable",
    });
    await eventually(
      async () => !(await networks.isFree("own")) || (await networks.record("own")) !== undefined,
    );
    network.proxy.clear();
    await mutex(victim.locks, "own").acquire(CALM);
  });
}
