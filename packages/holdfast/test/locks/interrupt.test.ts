import { describe, expect, it } from "vitest";
import { expectError, expectErrorToBe } from "../../../../test/support/errors.js";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import { awsLockClient } from "../../../formats/src/index.js";
import { forceRelease, interruptHolder } from "../../src/admin/index.js";
import { coalesce } from "../../src/coalesce/index.js";
import {
  adoptLease,
  all,
  exportLease,
  fairLock,
  type Holdfast,
  HoldfastError,
  type Lease,
  mutex,
  semaphore,
  sharedSession,
  writeLock,
} from "../../src/index.js";
import { keepFor } from "../../src/keep/index.js";
import { announce, interrupt, listen, onWanted, shield, wanted } from "../../src/requests/index.js";

const LEASE_MS = 3_000;
const LENGTHS = { lease: "3s", wait: "60s", poll: { min: "50ms", max: "200ms" } } as const;
const INTERRUPT = { ifHeld: interrupt } as const;

function scene(sessions = false) {
  const world = new World();
  const inhabitant = (owner: string): Inhabitant =>
    world.inhabitant({
      ...LENGTHS,
      owner,
      ...(sessions ? { sharedSession: sharedSession() } : {}),
    });
  return { world, holder: inhabitant("holder"), asker: inhabitant("asker"), inhabitant };
}

const held = ({ world, holder }: ReturnType<typeof scene>): Promise<Lease> =>
  world.until(mutex(holder.locks, "a").acquire());

/** Releases the lease as soon as its signal aborts. */
function obeys(lease: Pick<Lease, "signal" | "release">): void {
  lease.signal.addEventListener("abort", () => void lease.release(), { once: true });
}

const adopted = async (locks: Holdfast): Promise<Lease> =>
  adoptLease(locks, await exportLease(await mutex(locks, "a").acquire()));

const first = async (several: ReturnType<ReturnType<typeof all>["acquire"]>): Promise<Lease> =>
  (await several).parts[0] as Lease;

const errorOf = (call: Promise<unknown>): Promise<HoldfastError> =>
  call.then(
    () => Promise.reject(new Error("the call did not reject")),
    (error: HoldfastError) => error,
  );

describe.each([
  ["with its own renewals", false],
  ["on a session", true],
] as const)("a holder %s", (_, sessions) => {
  it("stops at its next renewal when interrupted, and the asker is granted after its release", async () => {
    const stage = scene(sessions);
    const { world, asker } = stage;
    const lease = await held(stage);
    await world.time.advance(2_000);
    obeys(lease);
    const fromMs = world.time.nowMs;
    const next = await world.until(mutex(asker.locks, "a").acquire(INTERRUPT));
    expectErrorToBe(lease.signal.reason, {
      code: "interrupted",
      lockName: "a",
      mentions: ["asker", "release"],
    });
    expect(next.fence > lease.fence).toBe(true);
    // A renewal, and a poll.
    expect(world.time.nowMs - fromMs).toBeLessThan(LEASE_MS / 3 + 500);
  });

  // rule: protocol 124
  it("keeps the lock until its lease ends without renewals if it ignores the signal", async () => {
    const stage = scene(sessions);
    const { world, asker } = stage;
    const lease = await held(stage);
    await world.time.advance(2_000);
    const asked = mutex(asker.locks, "a").acquire(INTERRUPT);
    let interruptedMs = 0;
    lease.signal.addEventListener("abort", () => {
      interruptedMs = world.time.nowMs;
    });
    let lostMs = 0;
    const next = asked.then((got) => ({ got, atMs: world.time.nowMs }));
    while (lease.isHeld) {
      await world.time.advance(10);
      lostMs = world.time.nowMs;
    }
    expect(interruptedMs).toBeGreaterThan(0);
    expect(lostMs - interruptedMs).toBeLessThanOrEqual(LEASE_MS + 20);
    await expect(lease.renew()).rejects.toMatchObject({ code: "lost", reason: "interrupted" });
    const { got, atMs } = await world.until(next);
    expect(atMs).toBeGreaterThanOrEqual(lostMs - 10);
    expect(got.fence > lease.fence).toBe(true);
  });

  it("is interrupted by a caller of its own process at once", async () => {
    const stage = scene(sessions);
    const { world, holder } = stage;
    const lease = await held(stage);
    await world.time.advance(2_000);
    obeys(lease);
    const fromMs = world.time.nowMs;
    await world.until(mutex(holder.locks, "a").acquire(INTERRUPT));
    expect(lease.signal.reason).toMatchObject({ code: "interrupted" });
    expect(world.time.nowMs - fromMs).toBeLessThan(300);
  });

  it("refuses a renewal that it asks for, and may still write and release", async () => {
    const stage = scene(sessions);
    const { world, asker } = stage;
    const lease = await held(stage);
    const next = mutex(asker.locks, "a").acquire(INTERRUPT);
    await world.time.advance(LEASE_MS / 2);
    expect(lease.signal.aborted).toBe(true);
    expect(lease.isHeld).toBe(true);
    await expect(world.until(lease.renew())).rejects.toMatchObject({ code: "interrupted" });
    await world.until(lease.update({ n: 1 }));
    await world.until(lease.release());
    await world.until(next);
  });
});

describe("an interrupted holder", () => {
  // rule: protocol 124
  it.each([
    ["a plain one", (lease: Lease) => lease.renew()],
    ["one with data", (lease: Lease) => lease.renew({ data: 2 })],
    ["one with another length", (lease: Lease) => lease.renew({ lease: "5m" })],
  ])("sends no renewal that waited for its turn: %s", async (_how, renew) => {
    const stage = scene();
    const { world, holder, asker } = stage;
    const lease = await held(stage);
    await world.until(interruptHolder(asker.locks, "a"));
    holder.network.next("write", { fault: "reordered", delayMs: 200 });
    const written = lease.update(1);
    await world.time.advance(1);
    const refused = expectError(renew(lease), { code: "interrupted", lockName: "a" });
    const before = world.record("a");
    await world.until(Promise.all([written, refused]));
    await world.time.advance(LEASE_MS / 2);
    const { version, leaseMs, data } = world.record("a") ?? {};
    expect([version, leaseMs]).toEqual([before?.["version"], before?.["leaseMs"]]);
    expect(data).toEqual({ N: "1" });
  });
});

describe("a session", () => {
  // rule: protocol 124
  it("does not keep a lock whose move to it shows the interruption, and whose holder does nothing", async () => {
    const stage = scene(true);
    const { world, asker } = stage;
    await held(stage);
    const fromMs = world.time.nowMs;
    // Before the first renewal, which is the move.
    const next = mutex(asker.locks, "a").acquire({ ...INTERRUPT, wait: "5m" });
    expect(await world.until(next)).toMatchObject({ owner: "asker" });
    expect(world.time.nowMs - fromMs).toBeLessThan(2 * LEASE_MS);
  });

  it("keeps no note of an interrupted holder", async () => {
    const stage = scene(true);
    const { world, asker } = stage;
    const first = await held(stage);
    await world.time.advance(2_000);
    obeys(first);
    await world.until(mutex(asker.locks, "a").acquire(INTERRUPT));
    await world.time.advance(2_000);
    const rows = world.table.items().filter((item) => JSON.stringify(item).includes("request#"));
    expect(rows).toEqual([]);
  });
});

describe("a holder on a session that has heard of a waiter", () => {
  async function told() {
    const world = new World();
    // A renewal comes later than the end of a request without an answer.
    const inhabitant = (owner: string): Inhabitant =>
      world.inhabitant({ owner, lease: "30s", sharedSession: sharedSession() });
    const holder = inhabitant("holder");
    const lease = await world.until(mutex(holder.locks, "a").acquire());
    await world.time.advance(15_000);
    const waits = (ifHeld: typeof announce | typeof interrupt): void => {
      const waiting = mutex(inhabitant("waiter").locks, "a").acquire({ ifHeld, wait: "10m" });
      waiting.catch(() => undefined);
    };
    return { world, holder, lease, waits };
  }

  // rule: protocol 63
  it.each(["throttled", "response-lost"] as const)(
    "is interrupted although a read of its record is %s",
    async (fault) => {
      const { world, holder, lease, waits } = await told();
      waits(announce);
      await world.time.advance(25_000);
      expect(wanted(lease)?.kind).toBe("announced");
      holder.network.next("read", { fault });
      waits(interrupt);
      await world.time.advance(60_000);
      expect(holder.network.injected[fault]).toBe(1);
      expect(wanted(lease)?.kind).toBe("interrupt");
    },
  );

  // rule: protocol 63
  it("is interrupted although the request comes while it removes the note of the waiter", async () => {
    const { world, holder, lease, waits } = await told();
    let removals = 0;
    holder.network.script((request) => {
      if (request.kind !== "write") return undefined;
      if (!request.write.change.remove.some((one) => one.startsWith("request#"))) return undefined;
      removals += 1;
      if (removals > 1) return undefined;
      waits(interrupt);
      return { fault: "reordered", delayMs: 100 };
    });
    waits(announce);
    await world.time.advance(60_000);
    expect(removals).toBeGreaterThan(0);
    expect(wanted(lease)?.kind).toBe("interrupt");
  });
});

describe("run()", () => {
  it("ends with the interruption if its body does, and with the result of a body that finishes", async () => {
    const stage = scene();
    const { world, holder, asker } = stage;
    const stopped = errorOf(
      mutex(holder.locks, "a").run(async ({ signal }) => {
        await new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
        });
      }),
    );
    await world.time.advance(100);
    const finishes = mutex(asker.locks, "a").run(INTERRUPT, async ({ signal }) => {
      await new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve());
      });
      return "well";
    });
    expectErrorToBe(await world.until(stopped), { code: "interrupted", lockName: "a" });
    await world.time.advance(500);
    await world.until(mutex(holder.locks, "a").acquire(INTERRUPT));
    expect(await world.until(finishes)).toBe("well");
  });

  type Run = (locks: Holdfast, body: () => Promise<unknown>) => Promise<unknown>;
  const oneLock: Run = (locks, body) => mutex(locks, "a").run(body);

  it.each<[string, Run, number, sessions?: boolean]>([
    ["its lease", oneLock, 20_000],
    ["its lease on a session", oneLock, 20_000, true],
    ["its forced release", oneLock, 2_000],
    ["the lease of several locks", (locks, body) => all(locks, ["a", "b"]).run(body), 20_000],
    ["the lease of a coalesced run", (locks, body) => coalesce(locks, "a", body), 20_000],
  ])(
    "rejects with `lost` after an interruption and the end of %s",
    async (how, run, workMs, sessions) => {
      const { world, holder, asker } = scene(sessions);
      const body = () =>
        new Promise((resolve) => holder.process.timers.set(workMs, true, () => resolve("well")));
      const ended = errorOf(run(holder.locks, body));
      await world.time.advance(100);
      const next = mutex(asker.locks, "a").acquire(INTERRUPT);
      await world.time.advance(1_500);
      if (how === "its forced release")
        await world.until(forceRelease(asker.locks, "a", { reason: "it hangs", now: true }));
      await world.until(next);
      expect(await world.until(ended)).toMatchObject({ code: "lost" });
    },
  );
});

describe("an interrupted process that acquires the lock again and again", () => {
  const WAIT = { wait: "5m" } as const;
  type Several = ReturnType<typeof all>;

  /** Holds the lock for `holdMs`, or until it is interrupted, again and again, until `end` is called. */
  function loop(
    { world, holder }: ReturnType<typeof scene>,
    lock: { acquire(options: typeof WAIT): Promise<Pick<Lease, "signal" | "release">> },
    holdMs: number,
  ) {
    let isOver = false;
    const running = (async () => {
      while (!isOver) {
        const lease = await lock.acquire(WAIT);
        await new Promise<void>((resolve) => {
          lease.signal.addEventListener("abort", () => resolve(), { once: true });
          holder.process.timers.set(holdMs, true, resolve);
        });
        await lease.release();
      }
    })();
    const end = (): Promise<void> => {
      isOver = true;
      return world.until(running);
    };
    return { end };
  }

  // A process that calls again at once is always before a caller that reads.
  // rule: protocol 124
  it.each([
    ["a mutex, and learns of it", mutex, 20_000],
    ["a mutex, and learns of it only by the release", mutex, 800],
    ["a fair lock", fairLock, 20_000],
    ["several locks", (locks: Holdfast) => all(locks, ["a", "b"], { lease: "3s" }), 20_000],
  ])("leaves the lock to the asker: with %s", async (_, make, holdMs) => {
    const stage = scene();
    const { world, holder, asker } = stage;
    const again = loop(stage, make(holder.locks, "a", { lease: "3s" }), holdMs);
    await world.time.advance(2_000);
    const fromMs = world.time.nowMs;
    const lease = await world.until(mutex(asker.locks, "a").acquire({ ...INTERRUPT, ...WAIT }));
    expect(world.time.nowMs - fromMs).toBeLessThan(2 * LEASE_MS);
    await world.until(lease.release());
    await again.end();
  });

  it("has it again after its longest pause if nobody takes it, and within a short wait", async () => {
    for (const wait of ["60s", "200ms"] as const) {
      const stage = scene();
      const { world, holder, asker } = stage;
      const lease = await held(stage);
      await world.until(interruptHolder(asker.locks, "a"));
      await world.until(lease.release());
      const fromMs = world.time.nowMs;
      await world.until(mutex(holder.locks, "a").acquire({ wait }));
      expect(world.time.nowMs - fromMs).toBeLessThan(300);
    }
  });

  it.each([
    ["a mutex", mutex, 9_900],
    ["a fair lock, whose longest pause is longer than what is left", fairLock, 6_000],
  ])(
    "has it again within the wait of a call that had waited for it: with %s",
    async (_, make, holdMs) => {
      const { world, holder, asker } = scene();
      const lock = make(holder.locks, "a", { lease: "12s" });
      const lease = await world.until(lock.acquire());
      const next = lock.acquire({ wait: "10s" });
      await world.until(interruptHolder(asker.locks, "a"));
      await world.time.advance(holdMs);
      expect(lease.signal.reason).toMatchObject({ code: "interrupted" });
      await world.until(lease.release());
      expect((await world.until(next)).isHeld).toBe(true);
    },
  );

  it.each([
    ["at once without a wait", (both: Several) => both.tryAcquire(), true, 0],
    ["within a short wait", (both: Several) => both.acquire({ wait: "300ms" }), true, 200],
    [
      "not after its signal",
      (both: Several) => both.acquire({ signal: AbortSignal.abort() }),
      false,
      0,
    ],
  ])("has several locks again %s", async (_, call, isHeld, withinMs) => {
    const stage = scene();
    const { world, holder, asker } = stage;
    const lease = await held(stage);
    await world.until(interruptHolder(asker.locks, "a"));
    await world.until(lease.release());
    const fromMs = world.time.nowMs;
    const got = await world.until(call(all(holder.locks, ["a", "b"])).catch(() => null));
    expect(got?.isHeld === true).toBe(isHeld);
    expect(world.time.nowMs - fromMs).toBeLessThanOrEqual(withinMs + 20);
  });
});

describe("of several askers", () => {
  // rule: protocol 122
  it("the newest wins, and each earlier one gives up with `interrupted`", async () => {
    const stage = scene();
    const { world, inhabitant } = stage;
    const lease = await held(stage);
    const settled: string[] = [];
    const calls = ["1", "2", "3", "4"].map(async (owner, at) => {
      const { locks, process } = inhabitant(owner);
      await new Promise<void>((begin) => {
        process.timers.set(20 * at + 1, true, begin);
      });
      return mutex(locks, "a")
        .acquire(INTERRUPT)
        .then(
          () => settled.push(`${owner} granted`),
          (error: HoldfastError) => settled.push(`${owner} ${error.code}`),
        );
    });
    await world.time.advance(600);
    expect(settled.toSorted()).toEqual(["1 interrupted", "2 interrupted", "3 interrupted"]);
    await world.until(lease.release());
    await world.until(Promise.all(calls));
    expect(settled.at(-1)).toBe("4 granted");
  });

  // rule: protocol 123
  it("an earlier one gets the lock neither by its release nor by a takeover, however late it looks", async () => {
    const stage = scene();
    const { world, holder, inhabitant } = stage;
    const lease = await held(stage);
    const [early, late] = [inhabitant("early"), inhabitant("late")];
    const first = errorOf(mutex(early.locks, "a").acquire(INTERRUPT));
    await world.time.advance(60);
    early.process.pause({});
    const second = mutex(late.locks, "a").acquire(INTERRUPT);
    await world.time.advance(60);
    late.process.pause({});
    await world.until(lease.release());
    early.process.resume({});
    expectErrorToBe(await world.until(first), {
      code: "interrupted",
      lockName: "a",
      mentions: ["newest wins"],
    });
    late.process.resume({});
    expect(await world.until(second)).toMatchObject({ isHeld: true, owner: "late" });
    expect(holder.reported).toEqual([]);
  });

  // rule: protocol 123
  it("an earlier one does not take over without a look after a later one has asked", async () => {
    const stage = scene();
    const { world, holder, inhabitant } = stage;
    await held(stage);
    holder.process.pause({});
    const [early, late] = [inhabitant("early"), inhabitant("late")];
    const poll = { min: "1s", max: "1s" } as const;
    const first = errorOf(mutex(early.locks, "a").acquire({ ...INTERRUPT, poll }));
    // The takeover is due soon, and early's next step is its write.
    await world.time.advance(3_000);
    early.process.pause({});
    const second = mutex(late.locks, "a").acquire(INTERRUPT);
    await world.time.advance(60);
    early.process.resume({});
    const stopped = await world.until(first);
    expectErrorToBe(stopped, { code: "interrupted", lockName: "a" });
    expect(stopped.message).toContain("`ifHeld: interrupt`");
    expect(await world.until(second)).toMatchObject({ owner: "late" });
  });

  it("one that waits does not interrupt a caller that came later and found the lock free", async () => {
    const stage = scene();
    const { world, inhabitant } = stage;
    const lease = await held(stage);
    const [waits, finds] = [inhabitant("waits"), inhabitant("finds")];
    const waiting = errorOf(mutex(waits.locks, "a").acquire(INTERRUPT));
    await world.time.advance(60);
    waits.process.pause({});
    await world.until(lease.release());
    const got = await world.until(mutex(finds.locks, "a").acquire(INTERRUPT));
    waits.process.resume({});
    expectErrorToBe(await world.until(waiting), { code: "interrupted", lockName: "a" });
    await world.time.advance(2 * LEASE_MS);
    expect(got).toMatchObject({ isHeld: true, signal: { aborted: false } });
  });

  // rule: protocol 123
  it.each([
    ["lost", { fault: "response-lost" }],
    ["sent again by the SDK", { fault: "response-lost-and-retried", retryAfterMs: 300 }],
  ] as const)("one whose request was %s does not come before a later one", async (_, fault) => {
    const stage = scene();
    const { world, inhabitant } = stage;
    await held(stage);
    const [early, late] = [inhabitant("early"), inhabitant("late")];
    let requests = 0;
    early.network.script(({ kind }) => {
      if (kind === "write") requests += 1;
      return kind === "write" && requests === 2 ? fault : undefined;
    });
    const first = errorOf(mutex(early.locks, "a").acquire(INTERRUPT));
    await world.time.advance(40);
    const second = mutex(late.locks, "a").acquire(INTERRUPT);
    expectErrorToBe(await world.until(first), { code: "interrupted", lockName: "a" });
    expect(await world.until(second)).toMatchObject({ owner: "late" });
  });
});

describe("a request", () => {
  it("costs one write for each holder, and reaches no later holder", async () => {
    const stage = scene();
    const { world, holder, asker, inhabitant } = stage;
    const lease = await held(stage);
    const writes = world.table.counts.writes;
    const asked = mutex(asker.locks, "a").acquire(INTERRUPT);
    await world.time.advance(500);
    // The attempt, and the request.
    expect(world.table.counts.writes - writes).toBe(2);
    await world.until(lease.release());
    const got = await world.until(asked);
    await world.until(got.release());
    const another = await world.until(mutex(inhabitant("another").locks, "a").acquire());
    await world.time.advance(2 * LEASE_MS);
    expect(another.signal.aborted).toBe(false);
    expect(holder.reported).toEqual([]);
  });

  it("interrupts also a plain waiter that got the lock first", async () => {
    const stage = scene();
    const { world, asker, holder } = stage;
    const lease = await held(stage);
    const queued = fairLock(holder.locks, "a", { lease: "3s" }).acquire();
    await world.time.advance(200);
    const asked = mutex(asker.locks, "a").acquire(INTERRUPT);
    await world.time.advance(100);
    asker.process.pause({});
    await world.until(lease.release());
    const before = await world.until(queued);
    obeys(before);
    asker.process.resume({});
    expect(await world.until(asked)).toMatchObject({ owner: "asker" });
    expect(before.signal.reason).toMatchObject({ code: "interrupted" });
  });

  it("gives way to a forced release", async () => {
    const stage = scene();
    const { world, holder, asker } = stage;
    const lease = await held(stage);
    const forced = forceRelease(holder.locks, "a", { reason: "it hangs" });
    await world.time.advance(30);
    const asked = mutex(asker.locks, "a").acquire(INTERRUPT);
    await world.until(forced);
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "released-by-force" });
    expect(await world.until(asked)).toMatchObject({ owner: "asker" });
  });

  it("aborts the signal of several locks that are held together, and not their loss", async () => {
    const stage = scene();
    const { world, holder, asker } = stage;
    const both = await world.until(all(holder.locks, ["a", "b"]).acquire());
    obeys(both);
    await world.until(mutex(asker.locks, "b").acquire(INTERRUPT));
    expect(both.signal.reason).toMatchObject({ code: "interrupted", lockName: "b" });
  });
});

it.each([undefined, null, "work"])("refuses %j in place of a function", async (wrong) => {
  const lease = await held(scene());
  const given = wrong as unknown as () => void;
  expect(() => onWanted(lease, given)).toThrow(
    expect.objectContaining({ code: "invalid-argument" }),
  );
  await expect(shield(lease, given)).rejects.toMatchObject({ code: "invalid-argument" });
});

describe("a shielded section", () => {
  it("is not interrupted before its end, and its lease is renewed until then", async () => {
    const stage = scene();
    const { world, asker } = stage;
    const lease = await held(stage);
    let ends: () => void = () => undefined;
    const section = shield(lease, () => new Promise<void>((resolve) => (ends = resolve)));
    const asked = mutex(asker.locks, "a").acquire(INTERRUPT);
    await world.time.advance(4 * LEASE_MS);
    expect(lease).toMatchObject({ isHeld: true, signal: { aborted: false } });
    expect(wanted(lease)).toEqual({ kind: "interrupt", by: "asker" });
    ends();
    await section;
    expect(lease.signal.reason).toMatchObject({ code: "interrupted" });
    await expect(shield(lease, () => 1)).rejects.toMatchObject({ code: "interrupted" });
    await world.until(lease.release());
    await world.until(asked);
    await expect(shield(lease, () => 1)).rejects.toMatchObject({ code: "lost" });
  });

  it("under one of several locks is not cut off by an interruption of another", async () => {
    const { world, holder, asker } = scene();
    const both = await world.until(all(holder.locks, ["a", "b"]).acquire());
    const [a] = both.parts as [Lease];
    let asked: Promise<Lease> | undefined;
    await shield(a, async () => {
      asked = mutex(asker.locks, "b").acquire(INTERRUPT);
      await world.time.advance(2_500);
      expect([a.signal.aborted, a.isHeld, both.signal.aborted]).toEqual([false, true, true]);
    });
    await world.until(both.release());
    await world.until(asked ?? Promise.reject());
  });

  // The session brings each request once.
  it.each([
    ["with its own renewals", false],
    ["on a session", true],
  ] as const)(
    "is interrupted at its end although a late read shows an earlier request: %s",
    async (_, sessions) => {
      const stage = scene(sessions);
      const { world, holder, asker, inhabitant } = stage;
      const lease = await held(stage);
      await world.time.advance(2_000);
      const heard: string[] = [];
      onWanted(lease, ({ kind }) => heard.push(kind));
      let ends: () => void = () => undefined;
      const section = shield(lease, () => new Promise<void>((resolve) => (ends = resolve)));
      const waits = mutex(inhabitant("waiter").locks, "a").acquire({ ifHeld: announce });
      await world.time.advance(1_500);
      await world.until(interruptHolder(asker.locks, "a"));
      await world.time.advance(1_500);
      const end = listen(lease, "100ms");
      // A third of a lease ago, by one or two renewals.
      const changesAgo = sessions ? 1 : 3;
      holder.network.next("read", { fault: "stale", changesAgo });
      await world.time.advance(150);
      end();
      expect(holder.network.injected.stale).toBe(1);
      ends();
      await section;
      expect(heard).toEqual(["announced", "interrupt"]);
      expect(lease.signal.reason).toMatchObject({ code: "interrupted" });
      await world.until(lease.release());
      await world.until(waits);
    },
  );

  it("leaves the lock to the asker, before the waiters of its process, if it releases the lease itself", async () => {
    const stage = scene();
    const { world, holder, asker } = stage;
    const lease = await held(stage);
    const order: string[] = [];
    const use = async (owner: string, call: Promise<Lease>): Promise<void> => {
      const got = await call;
      order.push(owner);
      await got.release();
    };
    const uses = [
      use("local", mutex(holder.locks, "a").acquire()),
      use("asker", mutex(asker.locks, "a").acquire(INTERRUPT)),
    ];
    await world.until(
      shield(lease, async () => {
        await new Promise<void>((resolve) => holder.process.timers.set(2_000, true, resolve));
        expect(wanted(lease)).toMatchObject({ kind: "interrupt" });
        await lease.release();
      }),
    );
    // The end of the section interrupts no holder that has released.
    expect(lease.signal.aborted).toBe(false);
    await world.until(Promise.all(uses));
    expect(order).toEqual(["asker", "local"]);
  });
});

describe("wanted()", () => {
  type LockOf = (
    locks: Holdfast,
    name: string,
  ) => { acquire(options: { signal: AbortSignal }): Promise<Lease> };

  it.each<[string, (stage: ReturnType<typeof scene>) => Promise<Lease>, LockOf]>([
    ["an adopted lease", ({ holder }) => adopted(holder.locks), mutex],
    [
      "that of a caller that interrupts",
      ({ holder }) => mutex(holder.locks, "a").acquire(INTERRUPT),
      mutex,
    ],
    ["one of several", ({ holder }) => first(all(holder.locks, ["a", "b"]).acquire()), mutex],
    ["a writer", ({ holder }) => writeLock(holder.locks, "a").acquire(), writeLock],
  ])(
    "shows a waiter of this process to a holder beside its queue: %s",
    async (_, acquire, lockOf) => {
      const stage = scene();
      const { world, holder } = stage;
      const lease = await world.until(acquire(stage));
      expect(wanted(lease)).toBeUndefined();
      const ending = new AbortController();
      const waits = lockOf(holder.locks, "a").acquire({ signal: ending.signal });
      await world.time.advance(20);
      expect(wanted(lease)).toEqual({ kind: "queue", by: undefined });
      ending.abort(new Error("the caller's"));
      await expect(world.until(waits)).rejects.toThrow("the caller's");
      expect(wanted(lease)).toBeUndefined();
      await world.until(lease.release());
    },
  );

  it("shows a waiter of this process to a coalesced run, also to one in place of a release", async () => {
    const stage = scene();
    const { world, holder } = stage;
    const { timers } = holder.process;
    const pause = (ms: number) => new Promise<void>((resolve) => timers.set(ms, true, resolve));
    const seen: unknown[] = [];
    const run = () =>
      coalesce(holder.locks, "a", async (lease) => {
        await pause(100);
        seen.push(wanted(lease));
      });
    const first = run();
    await world.time.advance(20);
    const next = run();
    const waits = mutex(holder.locks, "a").acquire();
    await world.until(Promise.all([first, next]));
    await world.time.advance(200);
    expect(seen).toEqual([
      { kind: "queue", by: undefined },
      { kind: "queue", by: undefined },
    ]);
    await world.until((await world.until(waits)).release());
  });

  it("shows the waiters of a queue, of this process, and one that announces itself, for one write", async () => {
    const stage = scene();
    const { world, holder, asker, inhabitant } = stage;
    const lease = await held(stage);
    expect(wanted(lease)).toBeUndefined();
    const heard: unknown[] = [];
    onWanted(lease, (by) => heard.push(by));
    const own = mutex(holder.locks, "a").acquire();
    await world.time.advance(20);
    expect(wanted(lease)).toEqual({ kind: "queue", by: undefined });
    const writes = world.table.counts.writes;
    const announced = mutex(asker.locks, "a").acquire({ ifHeld: announce });
    await world.time.advance(50);
    expect(world.table.counts.writes - writes).toBe(2);
    await world.time.advance(1_000);
    expect(wanted(lease)).toEqual({ kind: "announced", by: "asker" });
    expect(heard).toEqual([{ kind: "announced", by: "asker" }]);
    expect(lease.signal.aborted).toBe(false);
    const newest = mutex(inhabitant("newest").locks, "a").acquire(INTERRUPT);
    await world.time.advance(1_100);
    expect(heard.at(-1)).toEqual({ kind: "interrupt", by: "newest" });
    const calls = [own, announced, newest];
    for (const call of calls) void call.then((got) => got.release());
    await world.until(lease.release());
    await world.until(Promise.all(calls));
  });

  it("shows the queue that the answer to the grant has shown", async () => {
    const { world, holder, asker, inhabitant } = scene();
    const first = await world.until(fairLock(holder.locks, "a").acquire());
    const second = fairLock(asker.locks, "a").acquire();
    await world.time.advance(2_000);
    const third = fairLock(inhabitant("third").locks, "a").acquire();
    await world.time.advance(2_000);
    await world.until(first.release());
    const lease = await world.until(second);
    expect(wanted(lease)).toEqual({ kind: "queue", by: undefined });
    await world.until(lease.release());
    const last = await world.until(third);
    expect([wanted(lease), wanted(last)]).toEqual([undefined, undefined]);
    await world.until(last.release());
  });

  it("tells each wish once, however many answers show it, and nothing after the end of the calls", async () => {
    const stage = scene();
    const { world, asker, inhabitant } = stage;
    const lease = await held(stage);
    const heard: string[] = [];
    const heardEarly: string[] = [];
    onWanted(lease, ({ kind }) => heard.push(kind));
    const end = onWanted(lease, ({ kind }) => heardEarly.push(kind));
    const queued = fairLock(inhabitant("queued").locks, "a", { lease: "3s" }).acquire();
    await world.time.advance(2 * LEASE_MS);
    expect(heard).toEqual(["queue"]);
    end();
    const announced = mutex(asker.locks, "a").acquire({ ifHeld: announce });
    await world.time.advance(2 * LEASE_MS);
    expect(heard).toEqual(["queue", "announced"]);
    expect(heardEarly).toEqual(["queue"]);
    const calls = [queued, announced];
    for (const call of calls) void call.then((got) => got.release());
    await world.until(lease.release());
    await world.until(Promise.all(calls));
  });

  it.each([
    () => {
      throw new Error("the listener's");
    },
    () => Promise.reject(new Error("the listener's")),
  ])("tells an error of its listener: %s", async (listener) => {
    const stage = scene();
    const { world, holder, asker } = stage;
    const lease = await held(stage);
    onWanted(lease, listener);
    const asked = mutex(asker.locks, "a").acquire(INTERRUPT);
    await world.time.advance(1_200);
    expect(holder.reported).toMatchObject([
      { lockName: "a", message: expect.stringContaining("(the listener's)") },
    ]);
    expect(lease.signal.aborted).toBe(true);
    await world.until(lease.release());
    await world.until(asked);
  });
});

describe("listen()", () => {
  it("tells once that DynamoDB refuses its reads", async () => {
    const stage = scene();
    const { world, holder } = stage;
    const lease = await held(stage);
    const error = new HoldfastError("access-denied", "no GetItem");
    holder.network.script(({ kind }) =>
      kind === "read" ? { fault: "misconfigured", error } : undefined,
    );
    listen(lease, "100ms");
    await world.time.advance(5_000);
    expect(holder.reported).toMatchObject([{ code: "access-denied" }]);
    expect(lease.isHeld).toBe(true);
  });

  it("refuses a lease in a format without requests", async () => {
    const world = new World({ keyAttributes: ["key"] });
    const format = awsLockClient({ partitionKeyName: "key" }) as never;
    const lease = await world.until(mutex(world.inhabitant({ format }).locks, "a").acquire());
    expect(() => listen(lease, "1s")).toThrow(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  });

  it("hears a request within its period, for half a read unit each, and ends with the lease", async () => {
    const world = new World();
    const holder = world.inhabitant({ lease: "60s", owner: "holder" });
    const asker = world.inhabitant({ owner: "asker", wait: "10m" });
    const lease = await world.until(mutex(holder.locks, "a").acquire());
    listen(lease, "1s");
    obeys(lease);
    const asked = mutex(asker.locks, "a").acquire(INTERRUPT);
    await world.time.advance(1_200);
    expect(lease.signal.reason).toMatchObject({ code: "interrupted" });
    const got = await world.until(asked);
    await world.until(got.release());
    const idle = await world.until(mutex(holder.locks, "b").acquire());
    listen(idle, "1s");
    const pause = () =>
      new Promise<void>((resolve) => {
        asker.process.timers.set(10_500, true, resolve);
      });
    const { reads, readUnits } = await world.requests(pause);
    expect([reads, readUnits]).toEqual([10, 5]);
    await world.until(idle.release());
    expect((await world.requests(pause)).reads).toBe(0);
  });

  it.each([
    ["semaphore", (locks: Holdfast) => semaphore(locks, "a", { permits: 1 })],
    ["write lock", (locks: Holdfast) => writeLock(locks, "a")],
  ] as const)("hears of the queue of a %s", async (_, of) => {
    const { world, holder, asker } = scene();
    const lease = await world.until(of(holder.locks).acquire());
    listen(lease, "100ms");
    const waiting = of(asker.locks).acquire();
    await world.time.advance(3_000);
    expect(wanted(lease)).toEqual({ kind: "queue", by: undefined });
    await world.until(lease.release());
    await world.until(waiting);
  });

  it.each([
    ["a lease", {}],
    ["a kept lease, which is given back", { keep: keepFor("60s") }],
  ])("tells no listener of a read in flight at the release of %s", async (_, options) => {
    const { world, holder, inhabitant } = scene();
    const lock = mutex(holder.locks, "a", { lease: "60s", ...options });
    const lease = await world.until(lock.acquire());
    const late: string[] = [];
    onWanted(lease, ({ kind }) => {
      if (!lease.isHeld) late.push(kind);
    });
    listen(lease, "1s");
    await world.until(interruptHolder(inhabitant("rival").locks, "a"));
    const { read } = holder.network.requests;
    while (holder.network.requests.read === read) await world.time.advance(1);
    await world.until(lease.release());
    await world.time.advance(3_000);
    expect(late).toEqual([]);
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });

  it("tells no listener after one that releases the lease", async () => {
    const stage = scene();
    const { world, asker } = stage;
    const lease = await held(stage);
    const heard: boolean[] = [];
    onWanted(lease, () => void lease.release());
    onWanted(lease, () => heard.push(lease.isHeld));
    listen(lease, "100ms");
    await world.until(mutex(asker.locks, "a").acquire(INTERRUPT));
    expect(heard).toEqual([]);
  });

  it("survives a table that does not answer, and hears again", async () => {
    const stage = scene();
    const { world, holder, asker } = stage;
    const lease = await held(stage);
    listen(lease, "100ms");
    holder.network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(500);
    holder.network.script(() => undefined);
    obeys(lease);
    await world.until(mutex(asker.locks, "a").acquire(INTERRUPT));
    expect(lease.signal.reason).toMatchObject({ code: "interrupted" });
  });
});

describe("wrong input", () => {
  it.each([
    [
      "another value",
      (at: Inhabitant) => mutex(at.locks, "a").acquire({ ifHeld: "stop" as never }),
    ],
    ["no wait", (at: Inhabitant) => mutex(at.locks, "a").acquire({ ...INTERRUPT, wait: 0 })],
    ["tryAcquire", (at: Inhabitant) => mutex(at.locks, "a").tryAcquire(INTERRUPT as never)],
    ["a fair lock", (at: Inhabitant) => fairLock(at.locks, "a").acquire(INTERRUPT)],
    ["several locks", (at: Inhabitant) => all(at.locks, ["a", "b"]).acquire(INTERRUPT as never)],
  ])("is refused: %s", async (_, call) => {
    const { world, holder } = scene();
    const error = await world.until(errorOf((async () => call(holder))()));
    expectErrorToBe(error, { code: "invalid-argument", mentions: ["ifHeld"] });
  });

  it("is refused by listen()", async () => {
    const stage = scene();
    const lease = await held(stage);
    expect(() => listen(lease, "10ms")).toThrowError(/every/);
    expect(() => listen({} as Lease, "1s")).toThrowError(/lease/);
  });
});
