import { describe, expect, it } from "vitest";
import { expectError } from "../../../../../test/support/errors.js";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import { awsLockClient } from "../../../../formats/src/index.js";
import type { Fault, FaultRequest } from "../../../../testing/src/faults/fault-plan.js";
import { MemoryTable } from "../../../../testing/src/table/memory-table.js";
import { grantHistory } from "../../../src/admin/grant-history.js";
import { history, releaseByHolder } from "../../../src/admin/index.js";
import { LEASE_CHANNELS } from "../../../src/events/index.js";
import {
  adoptLease,
  all,
  exportLease,
  fairLock,
  Holdfast,
  HoldfastError,
  inspect,
  type Lease,
  type LeaseTransfer,
  mutex,
  once,
  openSession,
  semaphore,
} from "../../../src/index.js";
import { heardWhile } from "../../telemetry/everything.js";

const LENGTHS = { lease: 3_000, renew: 1_000 } as const;

function scene() {
  const world = new World();
  const [one, two, three] = ["one", "two", "three"].map((owner) =>
    world.inhabitant({ ...LENGTHS, owner }),
  ) as [Inhabitant, Inhabitant, Inhabitant];
  return { world, one, two, three };
}

/** Serialises the handle, as a job system does. */
const carried = (handle: LeaseTransfer): LeaseTransfer => JSON.parse(JSON.stringify(handle));

async function exported(world: World, { locks }: Inhabitant, options = {}) {
  const lease = await world.until(mutex(locks, "a").acquire({ data: { job: 7 }, ...options }));
  const handle = carried(await world.until(exportLease(lease)));
  return { lease, handle };
}

describe("a transferred lock", () => {
  it("gives the importer a higher fence, the data and a full lease", async () => {
    const { world, one, two } = scene();
    const { lease, handle } = await exported(world, one);
    await world.time.advance(2_500);
    const imported = await world.until(adoptLease(two.locks, handle));
    expect(imported.fence).toBe(lease.fence + 2n);
    expect(imported.data).toEqual({ job: 7 });
    expect(imported.owner).toBe("two");
    // Counts from the importer's send, regardless of the exporter's remaining lease.
    expect(imported.remainingMs()).toBeGreaterThan(2_900);
    await world.time.advance(60_000);
    expect(imported.isHeld).toBe(true);
    await world.until(imported.release());
    await world.until((await world.until(mutex(one.locks, "a").acquire())).release());
  });

  it("costs a write for the export and a write for the import", async () => {
    const { world, one, two } = scene();
    const lease = await world.until(mutex(one.locks, "a").acquire());
    const { result, writes } = await world.requests(() => exportLease(lease));
    expect(writes).toBe(1);
    expect(await world.requests(() => adoptLease(two.locks, result))).toMatchObject({
      writes: 1,
      reads: 0,
    });
  });

  // rule: R2, protocol 76
  it("ends for the exporter before the first send, with a reason and without further renewals", async () => {
    const { world, one } = scene();
    const lease = await world.until(mutex(one.locks, "a").acquire());
    const exporting = exportLease(lease);
    expect(lease.isHeld).toBe(false);
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "exported" });
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ reason: "exported" }));
    const handle = await world.until(exporting);
    const before = world.record("a");
    await world.time.advance(10_000);
    await world.until(lease.release());
    expect(world.record("a")).toEqual(before);
    expect(before?.["holder"]).toEqual({ S: handle.holder });
    await expect(lease.renew()).rejects.toMatchObject({ reason: "exported" });
    await expect(exportLease(lease)).rejects.toMatchObject({ reason: "exported" });
  });

  it("is the result of a run whose body exports its lease", async () => {
    const { world, one, two } = scene();
    const handle = await world.until(mutex(one.locks, "a").run((lease) => exportLease(lease)));
    const imported = await world.until(adoptLease(two.locks, carried(handle)));
    expect(imported).toMatchObject({ isHeld: true, owner: "two" });
    const failed = mutex(one.locks, "b").run(async (lease) => {
      await exportLease(lease);
      throw new Error("the body's");
    });
    await expect(world.until(failed)).rejects.toThrow("the body's");
    // The other lock is lost with it.
    const several = all(one.locks, ["c", "d"]).run(({ parts: [part] }) =>
      exportLease(part as Lease),
    );
    await expect(world.until(several)).rejects.toMatchObject({ code: "lost", reason: "exported" });
  });

  // rule: protocol 77
  it("fails the exporter's condition before and after the import", async () => {
    const { world, one } = scene();
    const lease = await world.until(mutex(one.locks, "a").acquire());
    const { holder, fence } = lease;
    const isHeld = (): boolean => {
      const record = world.record("a");
      const held = { holder: { S: holder }, fence: { N: String(fence) } };
      return (
        JSON.stringify([record?.["holder"], record?.["fence"]]) ===
        JSON.stringify([held.holder, held.fence])
      );
    };
    expect(isHeld()).toBe(true);
    await world.until(exportLease(lease));
    expect(isHeld()).toBe(false);
  });

  it("is given up when the exporter's client closes before an answer", async () => {
    const { world, one } = scene();
    const lease = await world.until(mutex(one.locks, "a").acquire());
    one.network.script(() => ({ fault: "request-lost" }));
    const exporting = expectError(exportLease(lease, { lease: "1h" }), {
      ...{ code: "outcome-unknown", lockName: "a" },
    });
    await world.time.advance(100);
    await world.until(Promise.all([one.locks.close(), exporting]), 20_000);
  });

  it("tells an importer that was paused too long that its own import took the handle", async () => {
    const { world, one, two } = scene();
    const { handle } = await exported(world, one);
    const importing = adoptLease(two.locks, handle);
    await world.time.advance(6);
    two.process.pause();
    await world.time.advance(40_000);
    two.process.resume({ first: "io" });
    const facts = { code: "not-acquired", lockName: "a", mentions: ["most of its lease"] } as const;
    await world.until(expectError(importing, { ...facts, omits: ["already used"] }));
    await world.until(mutex(one.locks, "a").acquire());
  });

  // rule: R4, protocol 78
  it("accepts one import: a second import fails, even after a release by the importer", async () => {
    const { world, one, two, three } = scene();
    const { handle } = await exported(world, one);
    const [first, second] = await world.until(
      Promise.allSettled([adoptLease(two.locks, handle), adoptLease(three.locks, handle)]),
    );
    const both = [first, second];
    const lease = both.find((outcome) => outcome.status === "fulfilled")?.value;
    const refusals = both.filter((outcome) => outcome.status === "rejected");
    expect(refusals.map(({ reason }) => reason.code)).toEqual(["not-acquired"]);
    expect(refusals[0]?.reason.message).toMatch(/already used.*(two|three) holds the lock/);
    await world.until(lease?.release() ?? Promise.resolve());
    const again = world.until(adoptLease(one.locks, handle));
    await expect(again).rejects.toMatchObject({ code: "not-acquired" });
  });

  // rule: R14, protocol 79
  it("is closed to all waiters until the reservation expires, and then free", async () => {
    const { world, one, two } = scene();
    const lease = await world.until(mutex(one.locks, "a").acquire());
    const taking: { by: string; atMs: number }[] = [];
    for (const [by, { locks }] of Object.entries({ one, two })) {
      const noted = (): void => void taking.push({ by, atMs: world.time.nowMs });
      void mutex(locks, "a").acquire({ wait: "30s" }).then(noted, noted);
    }
    await world.time.advance(500);
    // The first send is lost: without an answer the record names the exporter.
    one.network.next("write", { fault: "request-lost", unknownAfterMs: 300 });
    const handle = await world.until(exportLease(lease));
    const fromMs = world.time.nowMs - 20;
    await world.time.advance(2_900);
    expect(taking).toEqual([]);
    await world.time.advance(400);
    expect(taking).toHaveLength(1);
    expect((taking[0]?.atMs ?? 0) - fromMs).toBeGreaterThan(3_000);
    const late = world.until(adoptLease(world.inhabitant(LENGTHS).locks, handle));
    await expect(late).rejects.toMatchObject({ code: "not-acquired" });
  });

  it("accepts an import after the reservation, until another client acquires the lock", async () => {
    const { world, one, two } = scene();
    const { handle } = await exported(world, one);
    await world.time.advance(3_600_000);
    const lease = await world.until(adoptLease(two.locks, handle));
    expect(lease.isHeld).toBe(true);
  });

  it.each(["response-lost", "request-lost", "response-lost-and-retried"] as const)(
    "has one export and one import despite the fault %s",
    async (kind) => {
      const fault: Fault =
        kind === "response-lost-and-retried"
          ? { fault: kind }
          : { fault: kind, unknownAfterMs: 300 };
      const { world, one, two, three } = scene();
      const lease = await world.until(mutex(one.locks, "a").acquire());
      one.network.next("write", fault);
      const handle = await world.until(exportLease(lease));
      two.network.next("write", fault);
      const imported = await world.until(adoptLease(two.locks, handle));
      expect(imported.isHeld).toBe(true);
      expect(world.record("a")?.["holder"]).toEqual({ S: imported.holder });
      const again = world.until(adoptLease(three.locks, handle));
      await expect(again).rejects.toMatchObject({ code: "not-acquired" });
    },
  );

  it("counts the importer's deadline from the first send, despite a late answer", async () => {
    const { world, one, two } = scene();
    const { handle } = await exported(world, one);
    two.network.next("write", { fault: "response-lost", unknownAfterMs: 600 });
    const fromMs = world.time.nowMs;
    const lease = await world.until(adoptLease(two.locks, handle));
    const tookMs = world.time.nowMs - fromMs;
    expect(tookMs).toBeGreaterThan(600);
    expect(lease.remainingMs()).toBeLessThanOrEqual(3_000 - tookMs);
  });

  it.each(["applied-late", "request-lost", "response-lost"] as const)(
    "ends and is soon free after an unanswered export: %s",
    async (fault) => {
      const { world, one, two } = scene();
      const lease = await world.until(mutex(one.locks, "a").acquire());
      const late = { delayMs: 2_000, unknownAfterMs: 50 };
      one.network.script(() => ({ fault, ...late }));
      const exporting = world.until(exportLease(lease));
      await expect(exporting).rejects.toMatchObject({ code: "outcome-unknown" });
      expect(lease.isHeld).toBe(false);
      one.network.script(undefined);
      await world.time.advance(7_000);
      expect(world.record("a")?.["holder"]).toBeUndefined();
      expect((await world.until(mutex(two.locks, "a").tryAcquire()))?.isHeld).toBe(true);
    },
  );

  // rule: protocol 80
  it.each<[string, (request: FaultRequest) => boolean]>([
    ["an unanswered import", () => true],
    [
      "an unanswered grant with an answered rollback",
      (request) => request.kind === "write" && request.write.change.set["holder"] !== undefined,
    ],
  ])("leaves no holder behind after %s, not even by a delayed copy", async (_, isLate) => {
    const { world, one, two, three } = scene();
    const { handle } = await exported(world, one);
    const late = { fault: "applied-late", delayMs: 1_500, unknownAfterMs: 50 } as const;
    two.network.script((request) => (isLate(request) ? late : undefined));
    const importing = world.until(adoptLease(two.locks, handle, { wait: "300ms" }));
    await expect(importing).rejects.toMatchObject({ code: "unreachable", lockName: "a" });
    two.network.script(undefined);
    await world.time.advance(5_000);
    expect(world.record("a")?.["holder"]).toBeUndefined();
    const again = world.until(adoptLease(three.locks, handle));
    await expect(again).rejects.toMatchObject({ code: "not-acquired" });
  });

  it("reports the reason of a loss before the export", async () => {
    const { world, one, two } = scene();
    const lease = await world.until(mutex(one.locks, "a").acquire());
    await world.until(releaseByHolder(two.locks, "a", lease.holder));
    const exporting = world.until(exportLease(lease));
    await expect(exporting).rejects.toMatchObject({ code: "lost", reason: "released-elsewhere" });
  });

  it("has a handle with the name, the holder and the reservation", async () => {
    const { world, one } = scene();
    const lease = await world.until(mutex(one.locks, "a").acquire());
    const handle = await world.until(exportLease(lease));
    expect(handle).toEqual({
      ...{ v: 1, name: "a", owner: "one", leaseMs: 3_000 },
      ...{ holder: expect.any(String), fence: String(lease.fence + 1n) },
    });
    expect(handle.holder).not.toBe(lease.holder);
    const options = { namespace: "n" };
    const fair = await world.until(fairLock(one.locks, "f", options).acquire());
    expect(await world.until(exportLease(fair, { lease: "100ms" }))).toMatchObject({
      ...{ name: "f", namespace: "n", leaseMs: 100, fence: String(fair.fence + 1n) },
    });
  });

  it.each(["99ms", 365 * 24 * 3_600_000 + 1, "soon"])(
    "rejects a reservation of %j, and stays held",
    async (length) => {
      const { world, one } = scene();
      const lease = await world.until(mutex(one.locks, "a").acquire());
      const exporting = exportLease(lease, { lease: length });
      await expect(exporting).rejects.toMatchObject({
        code: "invalid-argument",
        message: expect.stringContaining("`lease`"),
      });
      expect(lease.isHeld).toBe(true);
      expect(
        (await world.until(exportLease(lease, { lease: 365 * 24 * 3_600_000 }))).leaseMs,
      ).toBeGreaterThan(1e10);
    },
  );

  it("takes the handle's lease length by default, and new data", async () => {
    const { world, one } = scene();
    const other = world.inhabitant({ lease: "9s", owner: "other" });
    const { handle } = await exported(world, one);
    const imported = await world.until(adoptLease(other.locks, handle, { data: { job: 8 } }));
    expect([imported.leaseMs, imported.data]).toEqual([3_000, { job: 8 }]);
    expect((await world.until(inspect(one.locks, "a"))).data).toEqual({ job: 8 });
    const again = carried(await world.until(exportLease(imported, { lease: "5s" })));
    const last = await world.until(adoptLease(other.locks, again, { lease: "8s" }));
    expect([last.leaseMs, last.data]).toEqual([8_000, { job: 8 }]);
  });

  it("emits a grant or a refusal with the wait, and leaves no timer", async () => {
    const { world, one, two, three } = scene();
    const { handle } = await exported(world, one);
    const { grant, refusal } = LEASE_CHANNELS;
    const heard = await heardWhile([grant, refusal], async () => {
      await world.until((await world.until(adoptLease(two.locks, handle))).release());
      await world.until(adoptLease(three.locks, handle).catch(() => undefined));
    });
    const subject = { kind: "lock", name: "a", waitedMs: 10 };
    expect(heard.map(({ message }) => message)).toMatchObject([
      { ...subject, owner: "two", how: "import", leaseMs: 3_000 },
      { ...subject, owner: "three", code: "not-acquired" },
    ]);
    expect([two.process.pendingTimers(), three.process.pendingTimers()]).toEqual([0, 0]);
  });

  it("is not imported after a cancel, and not kept after the client closes", async () => {
    const { world, one, two, three } = scene();
    const { handle } = await exported(world, one);
    const signal = AbortSignal.abort("enough");
    const { writes } = await world.requests(async () => {
      await expect(adoptLease(two.locks, handle, { signal })).rejects.toBe("enough");
    });
    expect(writes).toBe(0);
    const importing = adoptLease(two.locks, handle).catch(({ code }) => code);
    await world.time.advance(8);
    await world.until(two.locks.close());
    expect(await world.until(importing)).toBe("closed");
    expect(world.record("a")?.["holder"]).toBeUndefined();
    expect((await world.until(mutex(three.locks, "a").tryAcquire()))?.isHeld).toBe(true);
  });

  it("ends after a misconfigured export, with the error and without a retry", async () => {
    const { world, one } = scene();
    const lease = await world.until(mutex(one.locks, "a").acquire());
    const error = new HoldfastError("misconfigured", "not allowed");
    let tries = 0;
    one.network.script(({ kind }) => {
      if (kind !== "write" || lease.isHeld) return undefined;
      tries += 1;
      return tries === 1 ? { fault: "misconfigured", error } : undefined;
    });
    const exporting = world.until(exportLease(lease));
    await expect(exporting).rejects.toMatchObject({ code: "outcome-unknown", cause: error });
    expect(lease.isHeld).toBe(false);
    await world.time.advance(10_000);
    // No process uses either of the two grants: the second write frees the lock.
    expect(tries).toBe(2);
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });

  it("is exported by a second send after a hanging first send", async () => {
    const { world, one } = scene();
    const lease = await world.until(mutex(one.locks, "a").acquire());
    one.network.next("write", { fault: "request-lost" });
    const handle = await world.until(exportLease(lease));
    expect(world.record("a")?.["holder"]).toEqual({ S: handle.holder });
  });

  it("reports the theft when the record names another holder", async () => {
    const { world, one } = scene();
    const lease = await world.until(mutex(one.locks, "a").acquire());
    const key = { pk: { S: "lock#a" }, sk: { S: "lease" } };
    world.table.putItem(key, { ...world.record("a"), holder: { S: "thief" } });
    const exporting = world.until(exportLease(lease));
    await expect(exporting).rejects.toMatchObject({ code: "lost", reason: "stolen" });
  });

  it("needs no sort key", async () => {
    const client = new MemoryTable({ keyAttributes: ["pk"] });
    const options = { client, table: "locks", keys: { sk: null } } as const;
    const [one, two] = [new Holdfast(options), new Holdfast(options)];
    const lease = await mutex(one, "a").acquire({ renew: "manual" });
    const imported = await adoptLease(two, await exportLease(lease), { renew: "manual" });
    expect(imported.isHeld).toBe(true);
    await imported.release();
  });

  it("emits a grant of kind import, with an entry in the history", async () => {
    const { world, one } = scene();
    const { handle } = await exported(world, one);
    const keeping = world.inhabitant({ ...LENGTHS, owner: "keeping", history: grantHistory() });
    await world.until(adoptLease(keeping.locks, handle));
    await world.time.advance(100);
    const { grants } = await world.until(history(keeping.locks, "a"));
    expect(grants).toMatchObject([{ how: "import", owner: "keeping" }]);
  });

  it("can be a fair lock with a namespace, and keeps the order of waiters", async () => {
    const { world, one, two, three } = scene();
    const lease = await world.until(fairLock(one.locks, "a", { namespace: "n" }).acquire());
    const next = fairLock(three.locks, "a", { namespace: "n" }).acquire();
    await world.time.advance(500);
    const handle = carried(await world.until(exportLease(lease)));
    const imported = await world.until(adoptLease(two.locks, handle));
    await world.time.advance(10_000);
    expect(imported.isHeld).toBe(true);
    await world.until(imported.release());
    expect((await world.until(next)).isHeld).toBe(true);
  });
});

describe("the client refuses an export", () => {
  it("of a lease on a session, of a shared hold, and of a session", async () => {
    const { world, one } = scene();
    const session = await world.until(openSession(one.locks));
    const lock = mutex(one.locks, "r", { reentrant: true });
    const leases = [
      await world.until(mutex(one.locks, "s", { session }).acquire()),
      await world.until(lock.acquire()),
    ];
    await world.until(
      once(one.locks, "o", { occurrence: "1" }, async (lease) => {
        await expect(exportLease(lease)).rejects.toMatchObject({ code: "invalid-argument" });
        expect(lease.isHeld).toBe(true);
      }),
    );
    await expect(exportLease(leases[0] as Lease)).rejects.toMatchObject({
      code: "invalid-argument",
    });
    expect(leases.every((lease) => lease.isHeld)).toBe(true);
  });

  // docs/transferring.md
  it("of a lease that two calls share by reentry, until one has released it", async () => {
    const { world, one } = scene();
    const lock = mutex(one.locks, "r", { reentrant: true });
    const first = await world.until(lock.acquire());
    const second = await world.until(lock.acquire());
    await expect(exportLease(first)).rejects.toMatchObject({ code: "invalid-argument" });
    expect([first.isHeld, second.isHeld]).toEqual([true, true]);
    await world.until(second.release());
    expect((await world.until(exportLease(first))).name).toBe("r");
  });

  it("of a permit and of several locks together, but not of one of them", async () => {
    const { world, one } = scene();
    const both = await world.until(all(one.locks, ["x", "y"]).acquire());
    const permit = await world.until(semaphore(one.locks, "s", { permits: 1 }).acquire());
    for (const lease of [both, permit]) {
      await expect(exportLease(lease)).rejects.toMatchObject({ code: "invalid-argument" });
      expect(lease.isHeld).toBe(true);
    }
    const [x] = both.parts;
    expect((await world.until(exportLease(x as Lease))).name).toBe("x");
  });

  it("in every format except the native format, by name, and an import too", async () => {
    const world = new World();
    const client = new MemoryTable({ time: world.time });
    const locks = new Holdfast({ client, table: "locks", format: awsLockClient() });
    const lease = await mutex(locks, "a").acquire({ renew: "manual" });
    const refused = {
      code: "invalid-argument",
      message: expect.stringMatching(/"aws-?lock-?client/i),
    };
    await expect(exportLease(lease)).rejects.toMatchObject(refused);
    expect(lease.isHeld).toBe(true);
    const handle = {
      v: 1,
      name: "a",
      holder: "h",
      fence: "1",
      leaseMs: 1_000,
      owner: "o",
    } as const;
    await expect(async () => adoptLease(locks, handle)).rejects.toMatchObject(refused);
    await lease.release();
  });

  it.each([
    [undefined],
    [{}],
    [{ v: 2 }],
    [{ holder: "" }],
    [{ fence: "-1" }],
    [{ fence: 1.5 }],
    [{ fence: "1x" }],
    [{ fence: "9".repeat(39) }],
    [{ leaseMs: 1_000.5 }],
    [{ leaseMs: 99 }],
    [{ name: "" }],
    [{ name: ["a"] }],
    [{ holder: 5 }],
  ])("and an import of an invalid handle: %j", async (wrong) => {
    const { one } = scene();
    const whole = { v: 1, name: "a", holder: "h", fence: "1", leaseMs: 1_000, owner: "o" };
    const handle = (wrong &&
      (Object.keys(wrong).length === 0 ? {} : { ...whole, ...wrong })) as LeaseTransfer;
    const importing = (async () => adoptLease(one.locks, handle))();
    await expectError(importing, { code: "invalid-argument", mentions: ["`exportLease()`"] });
  });

  it("but not with the longest fence or the shortest lease", async () => {
    const { world, one } = scene();
    const handle: LeaseTransfer = {
      ...{ v: 1, name: "a", holder: "h", owner: "o" },
      ...{ fence: "9".repeat(38), leaseMs: 100 },
    };
    const importing = world.until(adoptLease(one.locks, handle, { renew: "50ms" }));
    await expect(importing).rejects.toMatchObject({ code: "not-acquired" });
  });
});
