import type { Lease, LeaseTransfer, MultiLease } from "../../../src/index.js";
import type { Write } from "../../../src/platform/table.js";
import type { Fault, FaultScript } from "../../../src/testing/faults/fault-plan.js";
import type { SeededRandom } from "../../../src/testing/time/seeded-random.js";
import type { Incarnation } from "../incarnation.js";
import { stringIn } from "../queue/checkers.js";
import { byHand, keptAliveBy } from "../worker.js";
import { codeOf, type Grant, hold, limited, noteReleased, unreadableIn } from "./holding.js";

// Longer than a process needs for any request, so that what an abandoned import leaves behind shows.
const LONG_RESERVATION_MS = 60_000;
const MOST_TRANSFERS = 4;

/** Acquires one lock, acts, and releases or exports the lock. */
export async function oneLock(
  self: Incarnation,
  random: SeededRandom,
  kind: "mutex" | "fairLock",
): Promise<void> {
  const { run } = self;
  const { plan } = run;
  const name = nameOf(self, random);
  const isGreedy = random.chance(plan.world?.greed ?? 0);
  for (let times = isGreedy ? random.integer(2, 12) : 1; times > 0 && !run.isOver; times -= 1) {
    const options = keptAliveBy(self, random, random.integer(...plan.leaseMs));
    if (random.chance(0.3)) copyClaim(self, name, 4_000 * random.fraction());
    const lock = self.locks[kind](name, options);
    const lease = await taken(
      self,
      random,
      [name],
      (given) => lock.acquire(given),
      () => lock.tryAcquire(),
    );
    if (lease === undefined) {
      // The error for an unreadable record comes at once, and no caller would try again without a pause.
      if (plan.world?.isTampered === true) await self.sleep(100);
      continue;
    }
    const isOnSession = options.session !== undefined || self.holdsBy === "shared";
    await use(self, random, lease.lease, lease.waited, !isOnSession);
  }
}

/** Acquires several locks together, acts, and releases them. */
export async function manyLocks(self: Incarnation, random: SeededRandom): Promise<void> {
  const names = [...self.run.plan.names];
  const count = random.integer(2, 3);
  while (names.length > count) names.splice(random.integer(0, names.length - 1), 1);
  const lock = self.locks.multiLock(names, keptAliveBy(self, random, self.run.plan.leaseMs[0]));
  const given = await taken(
    self,
    random,
    [],
    (options) => lock.acquire(options),
    () => lock.tryAcquire(),
  );
  if (given === undefined) return;
  const grant = ofMany(given.lease);
  const parts = grant.parts.map(({ name, fence }) => `${fence} ${name}`);
  if (parts.length !== names.length) {
    self.run.fail("all or none", `${self.name} got ${parts.length} of ${names.length} locks`);
  }
  self.note({ kind: "granted together", parts });
  await hold(self, random, grant, { waited: false });
  self.asked();
  await end(self, grant, () => given.lease.release());
}

/** Ends a grant by its own process. */
async function end(self: Incarnation, grant: Grant, release: () => Promise<void>): Promise<void> {
  const isHeld = grant.isHeld();
  const released = release();
  if (isHeld) noteReleased(self, grant);
  await released.catch(codeOf);
  self.run.exchange.ended.add(grant.lossSignal);
}

/** Imports a transfer of any age, which any process may have imported already. */
export async function importOne(self: Incarnation, random: SeededRandom): Promise<void> {
  const { transfers } = self.run.exchange;
  const at = random.integer(0, Math.max(transfers.length - 1, 0));
  const handle = transfers[at];
  if (handle === undefined) return;
  // Half of the transfers reach one process only.
  if (random.chance(0.5)) transfers.splice(at, 1);
  const fence = BigInt(handle.fence);
  const { name } = handle;
  self.asked();
  self.note({ kind: "imports", name, fence });
  const isLost = random.chance(0.1) && loseImport(self, handle.holder);
  const limitMs = isLost || random.chance(0.1) ? 40 * random.fraction() : undefined;
  let lease: Lease;
  try {
    const wait = random.chance(0.3) ? 100 : 1_000;
    lease = await limited(self, limitMs, (signal) => self.locks.import(handle, { wait, signal }));
  } catch (error) {
    const code = codeOf(error, unreadableIn(self));
    if (code !== "not-acquired") self.note({ kind: "import given up", name, fence });
    return;
  }
  self.note({ kind: "imported", name, fence: lease.fence, from: fence });
  await use(self, random, lease, false, true);
}

/** Loses the request of an import that is given up soon; returns whether the run has such faults. */
function loseImport(self: Incarnation, from: string): boolean {
  const isImport = ({ condition }: Write): boolean => JSON.stringify(condition).includes(from);
  return strikeOnce(self, isImport, { fault: "request-lost" });
}

/** Doubles the next grant of a lock: the copy arrives when the lease has ended, perhaps by an export. */
function copyClaim(self: Incarnation, lock: string, delayMs: number): void {
  const isGrant = ({ key, change }: Write): boolean =>
    stringIn(key, "pk") === `lock#${lock}` && change.set["holder"] !== undefined;
  strikeOnce(self, isGrant, { fault: "duplicated", delayMs });
}

/** Strikes the next such write of a process; returns whether the run has faults of single requests. */
function strikeOnce(self: Incarnation, isMeant: (write: Write) => boolean, fault: Fault): boolean {
  const hasFaults = Object.keys(self.run.plan.faults.faults).length > 0;
  if (!hasFaults || self.script !== undefined) return false;
  const script: FaultScript = (request) => {
    if (request.kind !== "write" || !isMeant(request.write)) return undefined;
    if (self.script === script) self.script = undefined;
    return fault;
  };
  self.script = script;
  return true;
}

async function use(
  self: Incarnation,
  random: SeededRandom,
  lease: Lease,
  waited: boolean,
  isExportable: boolean,
): Promise<void> {
  const { run } = self;
  const grant = ofOne(self, random, lease);
  await hold(self, random, grant, { waited });
  self.asked();
  const isExported = isExportable && lease.isHeld && random.chance(run.plan.world?.exports ?? 0);
  if (isExported) return exportIt(self, random, lease, grant);
  // A lost lease need not be released, but a release helps waiters.
  if (!lease.isHeld && random.chance(0.5)) return;
  await end(self, grant, () => lease.release());
}

async function exportIt(
  self: Incarnation,
  random: SeededRandom,
  lease: Lease,
  grant: Grant,
): Promise<void> {
  const { run } = self;
  const isLong = random.chance(run.plan.world?.reservesLong ?? 0) && !run.isOver;
  const reservation = isLong ? { lease: LONG_RESERVATION_MS } : {};
  if (isLong) run.exchange.longestMs = LONG_RESERVATION_MS;
  self.note({ kind: "exports", name: lease.name, fence: lease.fence });
  const exporting = lease.export(reservation);
  noteReleased(self, grant);
  try {
    const handle = await exporting;
    self.note({ kind: "exported", name: handle.name, fence: BigInt(handle.fence) });
    const { transfers } = run.exchange;
    transfers.push(JSON.parse(JSON.stringify(handle)) as LeaseTransfer);
    if (transfers.length > MOST_TRANSFERS) transfers.shift();
  } catch (error) {
    codeOf(error);
  }
}

type Given = { readonly wait: number; readonly signal: AbortSignal; readonly poll?: object };

/** Acquires with a wait or at once. `waitsFor`: the names for which a wait is noted. */
async function taken<L>(
  self: Incarnation,
  random: SeededRandom,
  waitsFor: readonly string[],
  acquire: (options: Given) => Promise<L>,
  tryAcquire: () => Promise<L | null>,
): Promise<{ readonly lease: L; readonly waited: boolean } | undefined> {
  const { behaviour, leaseMs, poll } = self.run.plan;
  const waited = !random.chance(behaviour.tries);
  const limitMs = random.chance(behaviour.cancels) ? random.fraction() * leaseMs[1] : undefined;
  const isImpatient = random.chance(behaviour.impatience);
  const wait = isImpatient ? random.integer(0, 3_000) : 3_600_000;
  if (waited) for (const name of waitsFor) self.note({ kind: "waits", name });
  self.asked();
  let code = "contended";
  try {
    const lease = waited
      ? await limited(self, limitMs, (signal) => acquire({ wait, signal, poll }))
      : await tryAcquire();
    if (lease !== null) return { lease, waited };
  } catch (error) {
    code = codeOf(error, unreadableIn(self));
  }
  for (const name of waitsFor) self.note({ kind: "gave up", name, code, waited });
  return undefined;
}

function nameOf({ run }: Incarnation, random: SeededRandom): string {
  return run.plan.names[random.integer(0, run.plan.names.length - 1)] ?? "a";
}

function ofOne(self: Incarnation, random: SeededRandom, lease: Lease): Grant {
  const { name, fence, holder, signal } = lease;
  return {
    parts: [{ name, fence, holder }],
    isHeld: () => lease.isHeld,
    remainingMs: () => lease.remainingMs(),
    lossSignal: signal,
    byHand: () => byHand(self, random, lease),
  };
}

function ofMany(lease: MultiLease): Grant {
  const parts = [...lease.holders].map(([name, holder]) => {
    return { name, holder, fence: lease.fences.get(name) ?? 0n };
  });
  return {
    parts,
    isHeld: () => lease.isHeld,
    remainingMs: () => lease.remainingMs(),
    lossSignal: lease.signal,
  };
}
