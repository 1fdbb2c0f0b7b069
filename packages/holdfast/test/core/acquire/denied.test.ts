import { beforeEach, describe, expect, it } from "vitest";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import { type FaultRequest, keyOf } from "../../../../testing/src/faults/fault-plan.js";
import { election, leaderTasks } from "../../../src/election/index.js";
import {
  fairLock,
  HoldfastError,
  inspect,
  mutex,
  once,
  openSession,
  semaphore,
  sharedSession,
} from "../../../src/index.js";

const LEASE_MS = 10_000;
const OUTAGE_MS = 2_000;
const FOR_EVER = { wait: Number.POSITIVE_INFINITY } as const;

function named(name: string, code: "access-denied" | "misconfigured" = "access-denied") {
  const cause = Object.assign(new Error("refused"), { name });
  return new HoldfastError(code, `DynamoDB refused the request: ${name}.`, { cause });
}
const EXPIRED = named("ExpiredTokenException");
const DENIED = { fault: "misconfigured", error: EXPIRED } as const;
const MISSING = named("CredentialsProviderError", "misconfigured");
const INCOMPLETE = new HoldfastError("misconfigured", "The SDK cannot send a request.", {
  cause: new Error("Resolved credential object is not valid"),
});

let world: World;
let other: Inhabitant;
let mine: Inhabitant;
let told: HoldfastError[];
beforeEach(() => {
  world = new World();
  told = [];
  other = world.inhabitant();
  mine = world.inhabitant({
    lease: LEASE_MS,
    requestTimeout: "5s",
    onError: (error) => void told.push(error),
  });
});

function deny(error = EXPIRED, which: (request: FaultRequest) => boolean = () => true): void {
  mine.network.script((request) =>
    which(request) ? { fault: "misconfigured", error } : undefined,
  );
}

it("tells a waiter for a permit of a refusal after one that ended with the opening of its session", async () => {
  deny();
  const waiting = semaphore(mine.locks, "a", { permits: 1 }).acquire(FOR_EVER);
  await world.time.advance(100);
  expect(told).toHaveLength(1);
  deny(EXPIRED, (request) => request.kind === "write" && "limit" in request.write.change.set);
  await world.time.advance(10_000);
  expect(told).toHaveLength(2);
  mine.network.clear();
  await world.until(waiting);
});

describe("refused requests about the session of a holder", () => {
  // In a policy for locks alone, `dynamodb:LeadingKeys` leaves the sessions out.
  const denySessions = (kind: FaultRequest["kind"]): void =>
    mine.network.script((request) => {
      const isOfSession = JSON.stringify(keyOf(request) ?? {}).includes('"session#');
      return request.kind === kind && isOfSession ? DENIED : undefined;
    });
  const holding = async () => {
    const holder = world.inhabitant({ lease: "60s", sharedSession: sharedSession() });
    const lease = await world.until(mutex(holder.locks, "a").acquire());
    await world.time.advance(60_000);
    return { holder, lease };
  };

  it("do not keep a waiter behind a dead one for ever, nor those behind it", async () => {
    const { lease } = await holding();
    const dead = world.inhabitant({ sharedSession: sharedSession() });
    fairLock(dead.locks, "a")
      .acquire(FOR_EVER)
      .catch(() => undefined);
    await world.time.advance(30_000);
    denySessions("read");
    const waiting = [mine, other].map(async ({ locks }) => {
      await (await fairLock(locks, "a").acquire(FOR_EVER)).release();
    });
    await world.time.advance(30_000);
    dead.process.kill();
    await world.until(lease.release());
    await world.until(Promise.all(waiting));
  });

  it("do not keep a waiter that may not end the session from the lock of a dead holder which another waiter frees", async () => {
    const { holder } = await holding();
    denySessions("write");
    holder.process.kill();
    const waiting = mutex(mine.locks, "a").acquire(FOR_EVER);
    await world.time.advance(120_000);
    expect(told).toMatchObject([{ code: "access-denied" }]);
    const lease = await world.until(mutex(other.locks, "a").acquire(FOR_EVER));
    await world.until(lease.release());
    await world.until(waiting);
  });

  it("are told once, although the table answers about the lock meanwhile", async () => {
    await holding();
    mutex(mine.locks, "a")
      .acquire(FOR_EVER)
      .catch(() => undefined);
    await world.time.advance(60_000);
    denySessions("read");
    await world.time.advance(30_000);
    expect(told).toMatchObject([{ code: "access-denied" }]);
  });
});

describe("refused renewals while a session opens", () => {
  const isRenewal = (request: FaultRequest): boolean =>
    request.kind === "write" && !("holder" in request.write.change.set);

  it.each([
    ["a waiter for a permit", () => semaphore(mine.locks, "a", { permits: 1 }).acquire(FOR_EVER)],
    ["a call of openSession()", () => openSession(mine.locks)],
  ] as const)("do not end %s, which is told at once", async (_title, call) => {
    deny(EXPIRED, isRenewal);
    const waiting: Promise<{ readonly isHeld: boolean }> = call();
    await world.time.advance(OUTAGE_MS);
    expect(told).toMatchObject([{ code: "access-denied", cause: EXPIRED.cause }]);
    mine.network.clear();
    expect((await world.until(waiting)).isHeld).toBe(true);
    expect(told).toHaveLength(1);
  });

  it("end a call without a wait", async () => {
    deny(EXPIRED, isRenewal);
    const calls: readonly (() => Promise<unknown>)[] = [
      () => semaphore(mine.locks, "a", { permits: 1 }).tryAcquire(),
      () => openSession(mine.locks, { wait: 0 }),
    ];
    for (const call of calls) {
      const fromMs = world.time.nowMs;
      await expect(world.until(call())).rejects.toMatchObject({ code: "access-denied" });
      expect(world.time.nowMs - fromMs).toBeLessThan(100);
    }
  });
});

it("tells of each refused action while a waiter waits", async () => {
  await world.until(mutex(other.locks, "a").acquire({ lease: LEASE_MS }));
  mutex(mine.locks, "a")
    .acquire(FOR_EVER)
    .catch(() => undefined);
  await world.time.advance(3_000);
  other.process.kill();
  deny();
  await world.time.advance(LEASE_MS / 2);
  expect(told).toHaveLength(1);
  // The takeover is a write.
  await world.time.advance(2 * LEASE_MS);
  expect(told).toHaveLength(2);
});

it("tells of each outage while the end of a waiter's grant is corrected", async () => {
  world = new World({ dates: (trueMs) => trueMs });
  mine = world.inhabitant({
    lease: LEASE_MS,
    process: { wallOffsetMs: 5 * 3_600_000 },
    onError: (error) => void told.push(error),
  });
  let corrections = 0;
  deny(EXPIRED, (request) => {
    if (request.kind !== "write" || "holder" in request.write.change.set) return false;
    corrections += 1;
    if (corrections !== 2) return true;
    // Another write has changed the record: the correction is served, and must be sent again.
    const key = { pk: { S: "lock#a" }, sk: { S: "lease" } };
    world.table.putItem(key, { ...world.record("a"), version: { N: "7" } });
    return false;
  });
  const waiting = mutex(mine.locks, "a").acquire(FOR_EVER);
  await world.time.advance(1_000);
  expect(corrections).toBeGreaterThan(2);
  expect(told).toMatchObject([{ code: "access-denied" }, { code: "access-denied" }]);
  mine.network.clear();
  expect((await world.until(waiting)).isHeld).toBe(true);
});

describe("a standby", () => {
  const leading = (who: Inhabitant) => {
    const candidate = election(who.locks, "boss", { lease: "3s" });
    const ended = candidate.lead(
      ({ signal }) =>
        new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())),
    );
    ended.catch(() => undefined);
    return { election: candidate, ended };
  };

  it.each(["read", "write"])("outlives refused credentials of each %s", async (kind) => {
    leading(other);
    await world.time.advance(1_000);
    const standby = leading(mine);
    await world.time.advance(1_000);
    deny(EXPIRED, (request) => request.kind === kind);
    other.process.kill();
    await world.time.advance(20_000);
    expect(told).toMatchObject([{ code: "access-denied" }]);
    expect(standby.election.isLeader).toBe(false);
    mine.network.clear();
    await world.time.advance(6_000);
    expect(standby.election.isLeader).toBe(true);
  });

  it("ends at once with another wrong configuration", async () => {
    deny(new HoldfastError("misconfigured", "No table."));
    await expect(world.until(leading(mine).ended)).rejects.toMatchObject({ code: "misconfigured" });
  });

  it("shows its trouble as long as it lasts", async () => {
    leading(other);
    await world.time.advance(1_000);
    const tasks = leaderTasks(mine.locks, {
      name: "boss",
      lease: "3s",
      tasks: [{ name: "t", every: "1s", run: () => undefined }],
    });
    tasks.start();
    await world.time.advance(1_000);
    expect(tasks.health().trouble).toBeUndefined();
    for (const error of [EXPIRED, new HoldfastError("misconfigured", "No table.")]) {
      deny(error);
      await world.time.advance(3_000);
      expect(tasks.health()).toMatchObject({ state: "follower", trouble: error });
      mine.network.clear();
      await world.time.advance(6_000);
      expect(tasks.health().trouble).toBeUndefined();
    }
  });
});

describe("observing a leader", () => {
  it("outlives refused credentials", async () => {
    const leaders: (string | undefined)[] = [];
    const ending = new AbortController();
    const observing = (async () => {
      const { signal } = ending;
      for await (const { leader } of election(mine.locks, "boss").observe({ signal }))
        leaders.push(leader);
    })();
    await world.time.advance(5_000);
    deny();
    await world.time.advance(20_000);
    mine.network.clear();
    const term = await world.until(election(other.locks, "boss", { owner: "me" }).campaign());
    await world.time.advance(10_000);
    expect(leaders).toEqual([undefined, "me"]);
    expect(told).toMatchObject([{ code: "access-denied" }]);
    ending.abort();
    await world.until(observing);
    await world.until(term.release());
  });
});

describe("a call of once that waits for the end of a run", () => {
  const options = { occurrence: "1", ifInterrupted: "rerun", atMostFor: "10s" } as const;

  it.each([
    ["refused credentials", { fault: "misconfigured", error: EXPIRED }, ["access-denied"]],
    ["an outage", { fault: "request-lost" }, []],
  ] as const)("outlives %s", async (_title, fault, codes) => {
    const running = once(other.locks, "task", options, () => world.time.sleep(30_000));
    await world.time.advance(1_000);
    const waiting = once(mine.locks, "task", options, () => undefined);
    await world.time.advance(5_000);
    mine.network.script(() => fault);
    await world.time.advance(OUTAGE_MS);
    mine.network.clear();
    await world.until(running);
    expect(await world.until(waiting)).toEqual({ ran: false, why: "already" });
    expect(told.map(({ code }) => code)).toEqual(codes);
  });

  it("is told at once that its begin is refused", async () => {
    const first = once(other.locks, "task", options, () => world.time.sleep(30_000));
    first.catch(() => undefined);
    await world.time.advance(1_000);
    const waiting = once(mine.locks, "task", options, () => "done");
    await world.time.advance(1_000);
    let toldBefore: number | undefined;
    deny(EXPIRED, (request) => {
      if (request.kind !== "write") return false;
      const { set, remove } = request.write.change;
      // The release of the lease may take two request timeouts.
      if (remove.includes("holder")) toldBefore ??= told.length;
      return "dataSeq" in set && !("holder" in set);
    });
    other.process.kill();
    await world.time.advance(25_000);
    expect(toldBefore).toBe(1);
    expect(told[0]).toMatchObject({ code: "access-denied", lockName: undefined });
    mine.network.clear();
    expect(await world.until(waiting)).toMatchObject({ ran: true, value: "done" });
  });

  it("is rejected before it waits", async () => {
    deny();
    const calling = once(mine.locks, "task", options, () => undefined);
    await expect(world.until(calling)).rejects.toBe(EXPIRED);
  });
});

describe.each([
  ["missing", MISSING],
  ["incomplete", INCOMPLETE],
])("%s credentials", (_, error) => {
  it("end a wait of a client that never had any", async () => {
    deny(error);
    await expect(world.until(mutex(mine.locks, "a").acquire(FOR_EVER))).rejects.toBe(error);
  });

  it("are waited for by a client that had some", async () => {
    await world.until(inspect(mine.locks, "a"));
    deny(error);
    const waiting = mutex(mine.locks, "a").acquire(FOR_EVER);
    await world.time.advance(OUTAGE_MS);
    expect(told).toMatchObject([{ code: "misconfigured" }]);
    mine.network.clear();
    await world.until(waiting);
  });
});

describe("the telling of refused credentials", () => {
  it("is once for all waiters, and again for the next refusal", async () => {
    await world.until(mutex(other.locks, "a").acquire());
    for (let waiter = 0; waiter < 5; waiter += 1) {
      mutex(mine.locks, "a")
        .acquire(FOR_EVER)
        .catch(() => undefined);
      fairLock(mine.locks, `b${waiter}`)
        .acquire(FOR_EVER)
        .catch(() => undefined);
    }
    await world.time.advance(3_000);
    for (let outage = 1; outage <= 2; outage += 1) {
      deny();
      await world.time.advance(OUTAGE_MS);
      mine.network.clear();
      await world.time.advance(10_000);
      expect(told).toHaveLength(outage);
    }
  });

  it("is once for a release, and a waiter after it", async () => {
    const lease = await world.until(mutex(mine.locks, "a").acquire());
    deny(EXPIRED, (request) => request.kind === "write");
    lease.release().catch(() => undefined);
    await world.time.advance(100);
    mutex(mine.locks, "b")
      .acquire(FOR_EVER)
      .catch(() => undefined);
    await world.time.advance(OUTAGE_MS);
    expect(told).toHaveLength(1);
  });

  it("is once while another operation is allowed", async () => {
    deny(EXPIRED, (request) => request.kind === "write");
    mutex(mine.locks, "a")
      .acquire(FOR_EVER)
      .catch(() => undefined);
    await world.time.advance(600_000);
    expect(told).toHaveLength(1);
  });
});
