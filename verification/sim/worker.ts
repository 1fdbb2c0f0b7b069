import {
  isHoldfastError,
  type Lease,
  type LockOptions,
  mutex,
} from "../../packages/holdfast/src/index.js";
import { inMs } from "../../packages/holdfast/src/internal/duration.js";
import type { SeededRandom } from "../../packages/testing/src/time/seeded-random.js";
import type { Incarnation } from "./incarnation.js";
import { pollOf } from "./plan.js";
import { giveUpChange } from "./world/operations/aims.js";

/** Runs one worker of a process until the end: acquires locks, acts under each lease, releases. */
export async function work(self: Incarnation, random: SeededRandom): Promise<void> {
  const { run } = self;
  while (!run.isOver) {
    await self.sleep(random.fraction() * run.plan.behaviour.longestRestMs);
    await self.restWhileQuiet();
    const name = run.plan.names[random.integer(0, run.plan.names.length - 1)];
    if (name === undefined) continue;
    const lease = await take(self, random, name);
    if (lease === undefined) continue;
    await hold(self, random, lease);
  }
}

async function take(
  self: Incarnation,
  random: SeededRandom,
  name: string,
): Promise<Lease | undefined> {
  const { plan } = self.run;
  const { behaviour } = plan;
  const leaseMs = random.integer(...plan.leaseMs);
  const options = keptAliveBy(self, random, leaseMs);
  const lock = mutex(self.locks, name, options);
  const abort = new AbortController();
  const cancelMs = random.chance(behaviour.cancels) ? random.fraction() * leaseMs : undefined;
  if (cancelMs !== undefined) self.after(cancelMs, () => abort.abort(new Error("cancelled")));
  const waited = !random.chance(behaviour.tries);
  if (waited) self.note({ kind: "waits", name });
  self.asked();
  try {
    const lease = waited
      ? await lock.acquire({
          wait: random.chance(behaviour.impatience)
            ? inMs(random.integer(0, 3_000 * plan.pace))
            : 3_600_000,
          signal: abort.signal,
          poll: pollOf(plan),
        })
      : await lock.tryAcquire();
    if (lease === null) {
      self.note({ kind: "gave up", name, code: "contended", waited });
      return undefined;
    }
    expectSession(self, options, name, lease);
    self.run.handedOut(self, lease);
    self.note({ kind: "granted", name, fence: lease.fence, waited });
    return lease;
  } catch (error) {
    const code = isHoldfastError(error) ? error.code : "cancelled";
    self.note({ kind: "gave up", name, code, waited });
    return undefined;
  }
}

/** Expects that no lease lives on by its own renewals if its session ended during the wait. */
export function expectSession(
  self: Incarnation,
  { session }: LockOptions,
  name: string,
  lease: { readonly isHeld: boolean },
): void {
  if (session?.isHeld !== false || !lease.isHeld) return;
  const what = `${self.name} was granted "${name}" on a session that had ended`;
  self.run.fail("lost is final", what);
}

// Mixes rivals of both kinds, and processes of both kinds.
export function keptAliveBy(self: Incarnation, random: SeededRandom, leaseMs: number): LockOptions {
  const session = self.sessions?.current;
  const isOwn = self.holdsBy === "each" || random.chance(0.15);
  if (isOwn) return { lease: inMs(leaseMs) };
  if (self.holdsBy === "shared") return {};
  return session?.isHeld === true ? { session } : { lease: inMs(leaseMs) };
}

async function hold(self: Incarnation, random: SeededRandom, lease: Lease): Promise<void> {
  const { name, fence } = lease;
  const { run } = self;
  const { behaviour } = run.plan;
  lease.signal.addEventListener("abort", () => {
    const reason = isHoldfastError(lease.signal.reason) ? lease.signal.reason.reason : undefined;
    self.note({ kind: "lost", name, fence, reason: reason ?? "?" });
  });
  const isLong = random.chance(behaviour.holdsLong);
  const longestMs = isLong ? behaviour.longHoldMs : behaviour.shortHoldMs;
  const untilMs = run.time.nowMs + longestMs * random.fraction();
  do {
    if (!act(self, lease)) break;
    if (random.chance(behaviour.guards)) guardedWrite(self, random, lease);
    if (random.chance(behaviour.byHand)) await byHand(self, random, lease);
    // Sometimes act in the last moment before the deadline, where too small a margin shows.
    const untilDeadlineMs = lease.remainingMs() - 1;
    const pauseMs = random.chance(0.1) ? untilDeadlineMs : random.fraction() * 60 * run.plan.pace;
    await self.sleep(Math.max(Math.min(pauseMs, longestMs), 0));
    if (!act(self, lease)) break;
  } while (run.time.nowMs < untilMs && !run.isOver && !run.isQuiet);
  if (random.chance(behaviour.forgets)) return forget(self, lease);
  const isHeld = lease.isHeld;
  // A lost lease need not be released, but a release helps waiters.
  if (!isHeld && random.chance(0.5)) return;
  self.asked();
  const released = lease.release();
  if (isHeld) self.note({ kind: "released", name, fence });
  await released.catch(() => undefined);
}

function act(self: Incarnation, lease: Lease): boolean {
  if (!lease.isHeld) return false;
  self.note({ kind: "acted", name: lease.name, fence: lease.fence });
  return true;
}

/** Sends a user transaction with the lease's condition, which arrives at any later time. */
export function guardedWrite(
  self: Incarnation,
  random: SeededRandom,
  lease: Pick<Lease, "name" | "fence" | "holder">,
): void {
  const { name, fence, holder } = lease;
  const delayMs = random.fraction() * 8_000;
  self.process.network.set(delayMs, false, () => {
    const isApplied = self.run.isHeldBy(name, holder, fence);
    self.note({ kind: "guarded", name, fence, isApplied });
  });
}

export async function byHand(self: Incarnation, random: SeededRandom, lease: Lease): Promise<void> {
  self.asked();
  const call = random.chance(0.5)
    ? lease.update({ n: random.integer(0, 9) })
    : random.chance(0.5)
      ? lease.renew({ data: "renewed" })
      : changeLength(self, random, lease);
  await call.catch((error: unknown) => {
    if (!isHoldfastError(error)) throw error;
  });
}

async function changeLength(self: Incarnation, random: SeededRandom, lease: Lease): Promise<void> {
  const drawnMs = random.integer(Math.ceil(lease.leaseMs * 0.7), lease.leaseMs + 500);
  // Renewals by the old length then come too late for those who watch by the new one.
  const leaseMs = giveUpChange(self, lease.name) ? Math.ceil(lease.leaseMs * 0.2) : drawnMs;
  const acknowledged = self.run.lengthAsked(lease);
  await lease.renew({ lease: inMs(leaseMs) });
  acknowledged(leaseMs);
}

// Forgets to release: the scheduler keeps the lock until the client is closed.
async function forget(self: Incarnation, lease: Lease): Promise<void> {
  await self.sleep(2_000 * self.run.plan.pace);
  self.asked();
  await lease.release().catch(() => undefined);
}
