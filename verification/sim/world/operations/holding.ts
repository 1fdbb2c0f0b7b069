import { isHoldfastError } from "../../../../packages/holdfast/src/index.js";
import type { SeededRandom } from "../../../../packages/testing/src/time/seeded-random.js";
import type { Incarnation } from "../../incarnation.js";
import { guardedWrite } from "../../worker.js";

/** One record of a grant: a grant of several locks has several. */
interface Part {
  readonly name: string;
  readonly fence: bigint;
  readonly holder: string;
  /** The fence of the grant in the table, if it has several uses. */
  readonly grantFence?: bigint;
}

/** A lease, a grant of several locks, or a term. */
export interface Grant {
  readonly parts: readonly Part[];
  /** Asks the clocks. */
  isHeld(): boolean;
  remainingMs(): number;
  /** Aborts at the loss. */
  readonly lossSignal: AbortSignal;
  /** Called at random while the process holds the grant. */
  readonly byHand?: () => Promise<void>;
}

/** Notes a grant, and acts with it for a while; ends early when the grant is lost or `isDone` says so. */
export async function hold(
  self: Incarnation,
  random: SeededRandom,
  grant: Grant,
  { waited, isDone = () => false }: { readonly waited: boolean; readonly isDone?: () => boolean },
): Promise<void> {
  const { run } = self;
  const { behaviour } = run.plan;
  begin(self, grant, waited);
  const isLong = random.chance(behaviour.holdsLong);
  const longestMs = isLong ? behaviour.longHoldMs : behaviour.shortHoldMs;
  const [part] = grant.parts;
  // The lock moves to a session, if there is one, at the first renewal.
  const moves = self.holdsBy !== "each" || run.plan.sessions === 0;
  if (isLong && moves && part)
    run.exchange.longHold = { name: part.name, by: self.name, grantedMs: run.time.nowMs };
  const untilMs = run.time.nowMs + longestMs * random.fraction();
  do {
    if (!act(self, grant)) return;
    for (const part of grant.parts) {
      const { fence, grantFence = fence } = part;
      if (random.chance(behaviour.guards))
        guardedWrite(self, random, { ...part, fence: grantFence });
    }
    if (grant.byHand !== undefined && random.chance(behaviour.byHand)) {
      const call = grant.byHand();
      // Some callers release the lease without waiting for such a call.
      if (random.chance(0.7)) await call;
    }
    // Sometimes act in the last moment before the deadline, where too small a margin shows.
    const pauseMs = random.chance(0.1) ? grant.remainingMs() - 1 : random.fraction() * 60;
    await self.sleep(Math.max(Math.min(pauseMs, longestMs), 1));
    if (!act(self, grant) || isDone()) return;
  } while (run.time.nowMs < untilMs && !run.isOver && !run.isQuiet);
}

function begin(self: Incarnation, grant: Grant, waited: boolean): void {
  for (const { name, fence, grantFence } of grant.parts) {
    self.run.handedOut(self, {
      name,
      fence,
      grantFence,
      get isHeld() {
        return grant.isHeld();
      },
    });
    self.note({ kind: "granted", name, fence, waited });
  }
  const { lossSignal } = grant;
  const lost = (): void => {
    const reason = isHoldfastError(lossSignal.reason) ? lossSignal.reason.reason : undefined;
    // The holder itself exported the lease.
    if (reason === "exported") return;
    const isOfOne = grant.parts.length === 1;
    for (const { name, fence } of grant.parts) {
      self.note({ kind: "lost", name, fence, reason: (isOfOne && reason) || "lost-with-another" });
    }
  };
  if (lossSignal.aborted) lost();
  else lossSignal.addEventListener("abort", lost, { once: true });
}

/** Acts, if the grant is held. */
export function act(self: Incarnation, grant: Grant): boolean {
  if (!grant.isHeld()) return false;
  for (const { name, fence } of grant.parts) self.note({ kind: "acted", name, fence });
  return true;
}

/** Draws the name of a lock. */
export function nameOf({ run }: Incarnation, random: SeededRandom): string {
  return run.plan.names[random.integer(0, run.plan.names.length - 1)] ?? "a";
}

/** Notes that the process itself ended its grant. */
export function noteReleased(self: Incarnation, { parts }: Grant): void {
  for (const { name, fence, holder, grantFence } of parts) {
    // A kept grant keeps its holder.
    const of = grantFence === undefined ? { holder } : {};
    self.note({ kind: "released", name, fence, ...of });
  }
}

// The codes of contention, also by a newer waiter, of a bad network, of refused credentials, of a used transfer and of a
// client without a session.
const EXPECTED = [
  ...["not-acquired", "unreachable", "throttled", "access-denied"],
  ...["lost", "outcome-unknown", "closed", "interrupted"],
];

/** Expects that a call whose wait is not over has not ended because of refused credentials, which heal. */
export function expectPatience(
  self: Incarnation,
  code: string,
  what: string,
  { wait, fromMs }: { readonly wait: number; readonly fromMs: number },
): void {
  // A process that slept for days wakes up after its wait.
  const isOver = self.process.clock.monotonicMs() - fromMs >= wait;
  if (code !== "access-denied" || isOver) return;
  self.run.fail(
    "waits for what heals",
    `${self.name} ${what}, and refused credentials ended its wait`,
  );
}

/** The codes of a call for a record that an operator made unreadable. */
export function unreadableIn({ run }: Incarnation): readonly string[] {
  return run.plan.world?.isTampered === true ? ["unsupported-layout", "foreign-record"] : [];
}

/** Returns the code of an error that a correct library rejects with under faults; throws any other error. */
export function codeOf(error: unknown, also: readonly string[] = []): string {
  if (error === CANCELLED) return "cancelled";
  if (isHoldfastError(error) && [...EXPECTED, ...also].includes(error.code)) return error.code;
  throw error;
}

/** Runs a call with a signal that aborts after this time of the process, if a time is given. */
export async function limited<T>(
  self: Incarnation,
  limitMs: number | undefined,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const timer =
    limitMs === undefined
      ? undefined
      : self.process.timers.set(limitMs, true, () => abort.abort(CANCELLED));
  try {
    return await call(abort.signal);
  } finally {
    timer?.cancel();
  }
}

/** The reason of the signal. */
const CANCELLED = new Error("cancelled");
