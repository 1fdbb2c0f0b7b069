import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Lease, mutex } from "../../packages/holdfast/src/index.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import { type FaultProxy, startFaultProxy } from "../../packages/testing/src/proxy/proxy.js";
import type { ProxyFault } from "../../packages/testing/src/proxy/proxy-plan.js";
import { describeOnOneServer } from "../support/dynamodb-local.js";
import { answersLost, countOf, nextWrites, recordOf, wrapped } from "../support/lossy.js";
import { freshTable, type Locker, Lockers, pause, sdkClient } from "../support/sdk.js";
import { Traffic } from "../support/traffic.js";
import { LEAN_WAY, SDK_WAY, WAYS, type Way } from "../support/ways.js";

/** The clients and helpers of one step. */
interface Scene {
  readonly name: string;
  /** A client for locks behind the proxy, which loses the next answers after a call of `lose`. */
  readonly victim: Locker;
  /** Another, with a good network. */
  readonly other: Locker;
  readonly lose: () => void;
  /** Advances virtual time until the promise settles, but only while no request is in flight. */
  readonly until: <T>(promise: Promise<T>) => Promise<T>;
  /** Lets this many milliseconds of virtual time pass. */
  readonly pass: (ms: number) => Promise<void>;
  readonly record: () => ReturnType<typeof recordOf>;
}

interface Step {
  readonly step: string;
  readonly run: (scene: Scene) => Promise<void>;
}

const MANUAL = { lease: "6s", renew: "manual", wait: "10s", poll: { min: "10ms" } } as const;

async function expectHeldBy(scene: Scene, lease: Lease, version: number): Promise<void> {
  expect(lease.isHeld).toBe(true);
  expect(await scene.record()).toMatchObject({
    holder: { S: lease.holder },
    fence: { N: lease.fence.toString() },
    version: { N: String(version) },
  });
}

// Each step also checks the table: a step other than a plain renewal or release is applied exactly once, which
// the version of the record shows.
const STEPS: readonly Step[] = [
  {
    step: "claim",
    run: async (scene) => {
      scene.lose();
      const lease = await scene.until(mutex(scene.victim.locks, scene.name).acquire(MANUAL));
      await expectHeldBy(scene, lease, 1);
    },
  },
  {
    step: "takeover",
    run: async (scene) => {
      const lock = mutex(scene.victim.locks, scene.name);
      const dead = await scene.until(
        mutex(scene.other.locks, scene.name).acquire({ ...MANUAL, lease: "200ms" }),
      );
      expect(await scene.until(lock.tryAcquire())).toBeNull();
      await scene.pass(210);
      scene.lose();
      const lease = await scene.until(lock.acquire(MANUAL));
      expect(lease.fence).toBe(dead.fence + 1n);
      await expectHeldBy(scene, lease, 2);
    },
  },
  {
    step: "renewal",
    run: async (scene) => {
      const lease = await scene.until(mutex(scene.victim.locks, scene.name).acquire(MANUAL));
      scene.lose();
      await scene.until(lease.renew());
      expect(lease.remainingMs()).toBeGreaterThan(4_000);
      expect(lease.isHeld).toBe(true);
      expect(await scene.record()).toMatchObject({ holder: { S: lease.holder } });
      await scene.until(lease.renew());
    },
  },
  {
    step: "change of length",
    run: async (scene) => {
      const lease = await scene.until(mutex(scene.victim.locks, scene.name).acquire(MANUAL));
      scene.lose();
      await scene.until(lease.renew({ lease: "12s", data: "longer" }));
      expect(lease.remainingMs()).toBeGreaterThan(9_000);
      await expectHeldBy(scene, lease, 2);
      expect(await scene.record()).toMatchObject({
        leaseMs: { N: "12000" },
        data: { S: "longer" },
        dataSeq: { N: "1" },
      });
    },
  },
  {
    step: "update",
    run: async (scene) => {
      const lease = await scene.until(mutex(scene.victim.locks, scene.name).acquire(MANUAL));
      scene.lose();
      await scene.until(lease.update({ at: 1 }));
      expect(await scene.record()).toMatchObject({ data: { M: { at: { N: "1" } } } });
      await scene.until(lease.update({ at: 2 }));
      expect(await scene.record()).toMatchObject({
        data: { M: { at: { N: "2" } } },
        dataSeq: { N: "2" },
      });
      await expectHeldBy(scene, lease, 1);
    },
  },
  {
    step: "release",
    run: async (scene) => {
      const lease = await scene.until(mutex(scene.victim.locks, scene.name).acquire(MANUAL));
      scene.lose();
      await scene.until(lease.release());
      expect(lease.signal.aborted).toBe(false);
      expect(await scene.record()).toMatchObject({ lastHolder: { S: lease.holder } });
      const next = await scene.until(mutex(scene.other.locks, scene.name).tryAcquire(MANUAL));
      expect(next?.fence).toBe(lease.fence + 1n);
    },
  },
  {
    step: "hand-over",
    run: async (scene) => {
      const lock = mutex(scene.victim.locks, scene.name);
      const first = await scene.until(lock.acquire(MANUAL));
      const second = lock.acquire(MANUAL);
      scene.lose();
      await scene.until(first.release());
      expect((await scene.until(second)).fence).toBe(first.fence + 1n);
      expect(first.signal.aborted).toBe(false);
      await expectHeldBy(scene, await second, 2);
    },
  },
];

const LOSSES: readonly ProxyFault[] = [
  { fault: "response-lost", how: "reset" },
  { fault: "response-lost", how: "hang" },
  { fault: "response-lost", how: "internal-error" },
];

interface Case extends Step {
  readonly title: string;
  readonly fault: ProxyFault;
  /** How many answers in a row are lost. */
  readonly times: number;
  readonly sdkRetries: boolean;
  readonly way: Way;
}

function casesFor(sdkRetries: boolean, counts: readonly number[], way = SDK_WAY): Case[] {
  return STEPS.flatMap((step) =>
    LOSSES.flatMap((fault) => {
      const how = "how" in fault ? fault.how : "";
      // A release reports an unknown outcome after two such bounds.
      const fitting = counts.filter((times) => way !== LEAN_WAY || how !== "hang" || times === 1);
      return fitting.map((times) => {
        const lost = times === 1 ? "one answer is lost" : `${times} answers are lost in a row`;
        return {
          ...step,
          title: `a ${step.step} of which ${lost} (${how})`,
          fault,
          times,
          sdkRetries,
          way,
        };
      });
    }),
  );
}

describeOnOneServer("an applied write with a lost answer", (endpoint) => {
  const table = freshTable();
  const lockers = new Lockers();
  let proxy: FaultProxy;
  let direct: DynamoDBClient;
  const clients: DynamoDBClient[] = [];
  let names = 0;

  beforeAll(async () => {
    direct = sdkClient(endpoint());
    await createTable({ client: direct, table });
    proxy = await startFaultProxy({ target: endpoint() });
  });
  afterAll(async () => {
    await lockers.closeAll();
    await proxy.close();
    direct.destroy();
    for (const client of clients) client.destroy();
  });

  // A new client for each test: the SDK stops retrying after too many failures of one client.
  function clientOf(to: string, traffic: Traffic): DynamoDBClient {
    const client = sdkClient(to);
    clients.push(client);
    return traffic.counted(client);
  }

  async function play(one: Case): Promise<void> {
    names += 1;
    const name = `${one.step} ${names}`;
    const attempts: number[] = [];
    const traffic = new Traffic(() => answersLost(proxy, name));
    const lossy = clientOf(proxy.endpoint, traffic);
    const hangs = "how" in one.fault && one.fault.how === "hang";
    let toTimeOut = 0;
    let timedOut = 0;
    aroundEachAttempt(lossy, async (attempt) => {
      if (toTimeOut === 0) return attempt();
      toTimeOut -= 1;
      timedOut += 1;
      const nth = timedOut;
      attempt().catch(() => undefined);
      while (answersLost(proxy, name) < nth) await pause(1);
      throw Object.assign(new Error("the answer does not come"), { name: "TimeoutError" });
    });
    // Created after the middleware was added, because lean() copies the SDK client's settings at creation.
    const client = one.sdkRetries ? wrapped(lossy, attempts) : traffic.over(one.way, lossy);
    // lean() has no timeout: the core aborts a hanging answer. The SDK has a timeout for each attempt, but in
    // real time, in which a busy machine looks like a hanging server.
    const requestTimeout = one.way === LEAN_WAY ? "1s" : "3s";
    const { until } = traffic;
    const environment = traffic.process;
    const victim = lockers.make({ client, table, requestTimeout, environment });
    const near = clientOf(endpoint(), traffic);
    const other = lockers.make({ client: near, table, environment });
    await one.run({
      name,
      victim,
      other,
      lose: () => {
        nextWrites(proxy, name, one.fault, one.times);
        if (hangs && one.way === LEAN_WAY) traffic.willHang(one.times);
        else if (hangs) toTimeOut = one.times;
      },
      until,
      pass: (ms) => traffic.time.advance(ms),
      record: () => recordOf(direct, table, name),
    });
    expect(victim.reported).toEqual([]);
    // These cases need a retry by the SDK.
    if (one.sdkRetries)
      expect(Math.max(...attempts)).toBeGreaterThanOrEqual(Math.min(one.times + 1, 4));
    // No step read the table: the write recognises itself in the refusal.
    expect(countOf(proxy, "GetItem", name)).toBe(0);
    await until(Promise.all([victim.locks.close(), other.locks.close()]));
  }

  describe.each(WAYS)("is recognised by a client without SDK retries, $way:", (way) => {
    it.concurrent.each(casesFor(false, [1, 3], way))("$title", play);
  });

  // Four attempts are the SDK's: the fifth request is the kernel's second.
  describe("is recognised by a client whose SDK retries cannot be disabled:", () => {
    it.concurrent.each(casesFor(true, [1, 2, 3, 4]))("$title", play);
  });

  it("does not report a release as lost if the SDK repeats the write and a rival was faster", async () => {
    const traffic = new Traffic(() => 0);
    const client = clientOf(proxy.endpoint, traffic);
    const environment = traffic.process;
    const victim = lockers.make({ client: wrapped(client), table, environment });
    const rival = lockers.make({ client: direct, table });
    const lease = await traffic.until(mutex(victim.locks, "raced").acquire(MANUAL));
    const poll = { min: "5ms", max: "5ms" };
    const waiting = mutex(rival.locks, "raced").acquire({ ...MANUAL, poll, wait: "1m" });
    let sent = 0;
    aroundEachAttempt(client, async (attempt) => {
      sent += 1;
      if (sent === 2) await waiting;
      return attempt();
    });
    nextWrites(proxy, "raced", { fault: "response-lost" });
    await traffic.until(lease.release());
    expect(sent).toBe(2);
    expect((await waiting).fence).toBe(lease.fence + 1n);
    expect(lease.signal.aborted).toBe(false);
  });
});

/** Adds a middleware around each attempt of the SDK, including retries. */
function aroundEachAttempt(
  client: DynamoDBClient,
  around: (attempt: () => Promise<object>) => Promise<object>,
): void {
  const middleware = (next: (sent: object) => Promise<object>) => (sent: object) =>
    around(() => next(sent));
  const place = { step: "finalizeRequest", priority: "low", name: "each-attempt" } as const;
  client.middlewareStack.add(middleware as never, place);
}
