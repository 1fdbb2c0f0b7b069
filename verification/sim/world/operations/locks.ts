import type { FormatTypes } from "../../../../packages/holdfast/src/core/record/format-types.js";
import {
  adoptLease,
  all,
  exportLease,
  fairLock,
  type Lease,
  type LeaseTransfer,
  type Lock,
  type LockOptions,
  lossSignal,
  mutex,
} from "../../../../packages/holdfast/src/index.js";
import { type Duration, inMs } from "../../../../packages/holdfast/src/internal/duration.js";
import { interrupt } from "../../../../packages/holdfast/src/requests/index.js";
import type { SeededRandom } from "../../../../packages/testing/src/time/seeded-random.js";
import type { Incarnation } from "../../incarnation.js";
import { pollOf } from "../../plan.js";
import { settlesInTime } from "../../settles-in-time.js";
import { byHand, expectSession, keptAliveBy } from "../../worker.js";
import {
  copyClaim,
  loseDeletions,
  loseImport,
  outlasting,
  pauseAtClaim,
  pauseAtPlace,
  slowUpdate,
} from "./aims.js";
import { asksOf, watchInterruption } from "./asking.js";
import {
  codeOf,
  expectPatience,
  type Grant,
  hold,
  limited,
  nameOf,
  noteReleased,
  unreadableIn,
} from "./holding.js";
import { grantFenceOf, keepingOf, noteUse } from "./keeping.js";
import { beginTalk, limitOf, type Manners, mannersOf, NO_MANNERS, shielded } from "./talking.js";

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
    const keeping = keepingOf(self, random);
    const manners = mannersOf(self, random);
    const alive = keeping?.options ?? keptAliveBy(self, random, random.integer(...plan.leaseMs));
    const options = { ...alive, ...limitOf(manners) };
    const limitMs = aimAt(self, random, name, options);
    const asks = kind === "mutex" ? asksOf(self, random) : undefined;
    const { ifHeld } = asks ?? {};
    const fairOrNot = { mutex, fairLock }[kind];
    const isReentrant = kind === "mutex" && random.chance(0.1);
    const lock = isReentrant
      ? mutex(self.locks, name, { ...options, reentrant: true })
      : fairOrNot(self.locks, name, options);
    const lease = await taken(
      self,
      random,
      [name],
      (given) => lock.acquire(given.wait === inMs(0) ? given : { ...given, ifHeld }),
      () => lock.tryAcquire(),
      limitMs,
      ifHeld === interrupt,
    );
    if (lease === undefined) {
      // The error for an unreadable record comes at once, and no caller would try again without a pause.
      if (plan.world?.isTampered === true) await self.sleep(100);
      continue;
    }
    if (keeping === undefined) expectSession(self, options, name, lease.lease);
    else noteUse(self, lease.lease, keeping.keep);
    const entered = isReentrant ? await enterAgain(self, lock, lease.lease) : lease.lease;
    const isOnSession =
      keeping !== undefined || options.session !== undefined || self.holdsBy === "shared";
    const isStopped = asks && watchInterruption(self, entered, asks);
    await use(self, random, entered, lease.waited, !isOnSession, isStopped, manners);
  }
}

/** Aims a fault at an acquisition, in some of the calls. May return the time after which the caller must give up. */
function aimAt(
  self: Incarnation,
  random: SeededRandom,
  name: string,
  { session }: LockOptions,
): number | undefined {
  const longestMs = 2 * self.run.plan.leaseMs[1];
  // A session keeps the entry of a waiter that gave up and could not delete its entry.
  const losesDeletions = (session !== undefined || self.holdsBy === "shared") && random.chance(0.2);
  if (random.chance(0.3)) copyClaim(self, name, 4_000 * random.fraction());
  else if (random.chance(0.05)) pauseAtClaim(self, name, () => longestMs * random.fraction());
  else if (session !== undefined && random.chance(0.2))
    pauseAtClaim(self, name, () => outlasting(session, random));
  else if (losesDeletions && loseDeletions(self, random)) return longestMs * random.fraction();
  return undefined;
}

/** Acquires a reentrant lock again, releases the first handle, and expects that this handle does nothing any more. */
async function enterAgain(self: Incarnation, lock: Lock, first: Lease): Promise<Lease> {
  self.asked();
  const again = await lock.tryAcquire().catch(codeOf);
  if (again === null || typeof again === "string") return first;
  await first.release().catch(codeOf);
  const exported = await exportLease(first).catch(codeOf);
  if (typeof exported === "string") return again;
  self.run.fail("stale handle", `${self.name} exported "${first.name}" by a released handle`);
  return again;
}

/** Acquires several locks together, acts, and releases them. */
export async function manyLocks(self: Incarnation, random: SeededRandom): Promise<void> {
  const names = [...self.run.plan.names];
  const count = random.integer(2, 3);
  while (names.length > count) names.splice(random.integer(0, names.length - 1), 1);
  const manners = mannersOf(self, random);
  const alive = keptAliveBy(self, random, self.run.plan.leaseMs[0]);
  const options = { ...alive, ...limitOf(manners) };
  const lock = all(self.locks, names, options);
  const given = await taken(
    self,
    random,
    [],
    (asked) => self.polling(names.length, lock.acquire(asked)),
    () => {
      // A call without a wait has a place only while it passes dead waiters.
      if (random.chance(0.7)) pauseAtPlace(self, random);
      return lock.tryAcquire();
    },
  );
  if (given === undefined) return;
  expectSession(self, options, names.join(" and "), given.lease);
  const grant = ofMany(given.lease);
  const parts = grant.parts.map(({ name, fence }) => `${fence} ${name}`);
  if (parts.length !== names.length) {
    self.run.fail("all or none", `${self.name} got ${parts.length} of ${names.length} locks`);
  }
  self.note({ kind: "granted together", parts });
  beginTalk(self, given.lease, grant, manners);
  await hold(self, random, grant, { waited: false });
  if (manners.shields) await shielded(self, random, given.lease, grant);
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
    const importing = limited(self, limitMs, (signal) =>
      adoptLease(self.locks, handle, { wait: inMs(wait), signal }),
    );
    lease = await settlesInTime(self, wait, `tried to import "${name}"`, importing);
  } catch (error) {
    const code = codeOf(error, unreadableIn(self));
    if (code !== "not-acquired") self.note({ kind: "import given up", name, fence });
    return;
  }
  self.note({ kind: "imported", name, fence: lease.fence, from: fence });
  await use(self, random, lease, false, true);
}

async function use(
  self: Incarnation,
  random: SeededRandom,
  lease: Lease,
  waited: boolean,
  isExportable: boolean,
  isStopped: () => boolean = () => false,
  manners: Manners = NO_MANNERS,
): Promise<void> {
  const { run } = self;
  const grant = ofOne(self, random, lease);
  const grantedMs = run.time.nowMs;
  const isBesideUpdate = self.holdsBy === "shared" && random.chance(0.15);
  beginTalk(self, lease, grant, manners);
  await hold(self, random, grant, { waited, isDone: () => isBesideUpdate || isStopped() });
  if (manners.shields) await shielded(self, random, lease, grant);
  if (isBesideUpdate) await updateAtFirstRenewal(self, random, lease, grantedMs);
  self.asked();
  const isExported = isExportable && lease.isHeld && random.chance(run.plan.world?.exports ?? 0);
  if (isExported) return exportIt(self, random, lease, grant);
  // A lost lease need not be released, but a release helps waiters.
  if (!lease.isHeld && random.chance(0.5)) return;
  await end(self, grant, () => lease.release());
}

/**
 * Sends a slow update just before the first renewal moves the lock to the session, and does not wait for the answer. The
 * release then comes while the move waits for its turn.
 */
async function updateAtFirstRenewal(
  self: Incarnation,
  random: SeededRandom,
  lease: Lease,
  grantedMs: number,
): Promise<void> {
  const dueMs = grantedMs + lease.leaseMs / 3 - self.run.time.nowMs;
  await self.sleep(Math.max(0, dueMs - 50 * random.fraction()));
  if (!lease.isHeld) return;
  self.asked();
  slowUpdate(self, lease.name, 200 + 300 * random.fraction());
  void lease.update({ n: 0 }).catch(codeOf);
  await self.sleep(60 + 140 * random.fraction());
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
  const exporting = exportLease(lease, reservation);
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

type Given = { readonly wait: Duration; readonly signal: AbortSignal; readonly poll?: object };

/** Acquires with a wait or at once. `waitsFor`: the names for which a wait is noted. */
async function taken<L extends Pick<Lease<FormatTypes>, "isHeld" | "parts">>(
  self: Incarnation,
  random: SeededRandom,
  waitsFor: readonly string[],
  acquire: (options: Given) => Promise<L>,
  tryAcquire: () => Promise<L | null>,
  givenLimitMs?: number,
  interrupts = false,
): Promise<{ readonly lease: L; readonly waited: boolean } | undefined> {
  const { behaviour, leaseMs } = self.run.plan;
  const waited = !random.chance(behaviour.tries);
  const isCancelled = random.chance(behaviour.cancels);
  const limitMs = givenLimitMs ?? (isCancelled ? random.fraction() * leaseMs[1] : undefined);
  const isImpatient = random.chance(behaviour.impatience);
  const wait = isImpatient ? random.integer(0, 3_000) : 3_600_000;
  if (waited) for (const name of waitsFor) self.note({ kind: "waits", name });
  const fromMs = self.process.clock.monotonicMs();
  self.asked();
  let code = "contended";
  try {
    const taking = waited
      ? limited<L | null>(self, limitMs, (signal) =>
          self.silence.watch(`waited for ${waitsFor[0] ?? "several locks"}`, { wait, signal }, () =>
            acquire({ wait: inMs(wait), signal, poll: pollOf(self.run.plan) }),
          ),
        )
      : tryAcquire();
    const isBounded = !waited || isImpatient;
    const lease = isBounded
      ? await settlesInTime(
          self,
          waited ? wait : 0,
          `tried to acquire ${waitsFor[0] ?? "several locks"}`,
          taking,
        )
      : await taking;
    if (lease?.isHeld === false)
      self.run.fail("lost is final", `${self.name} was granted a lost lease`);
    if (interrupts && lease !== null && waited) noteInterrupts(self, lease);
    if (lease !== null) return { lease, waited };
  } catch (error) {
    code = codeOf(error, unreadableIn(self));
    if (code === "interrupted" && !interrupts) throw error;
    const what = `waited for ${waitsFor[0] ?? "several locks"}`;
    if (waited && !isImpatient) expectPatience(self, code, what, { wait, fromMs });
  }
  for (const name of waitsFor) self.note({ kind: "gave up", name, code, waited });
  return undefined;
}

function noteInterrupts(self: Incarnation, { parts }: Pick<Lease<FormatTypes>, "parts">): void {
  for (const part of parts)
    self.note({ kind: "interrupts", name: part.name, fence: grantFenceOf(part as Lease) });
}

function ofOne(self: Incarnation, random: SeededRandom, lease: Lease): Grant {
  const { name, fence, holder } = lease;
  const grantFence = grantFenceOf(lease);
  return {
    parts: [{ name, fence, holder, ...(grantFence === fence ? {} : { grantFence }) }],
    isHeld: () => lease.isHeld,
    remainingMs: () => lease.remainingMs(),
    lossSignal: lossSignal(lease),
    byHand: () => byHand(self, random, lease),
  };
}

function ofMany(lease: Lease<FormatTypes>): Grant {
  const parts = lease.parts.map(({ name, holder, fence = 0n }) => ({ name, holder, fence }));
  return {
    parts,
    isHeld: () => lease.isHeld,
    remainingMs: () => lease.remainingMs(),
    lossSignal: lossSignal(lease),
  };
}
