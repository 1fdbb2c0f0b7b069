import type { HoldfastError } from "../../errors.js";
import { emitAcquireFailed, emitGrant, type GrantEvent } from "../events.js";
import { actingMs } from "../hold/deadline.js";
import type { GrantResult, HoldSettings } from "../hold/hold.js";
import { HeldLease } from "../hold/lease.js";
import { LocalWaiter, type Turn } from "../local-queue.js";
import type { RecordRef } from "../record/format.js";
import { Cancellation } from "./cancellation.js";
import type { AcquireContext } from "./context.js";
import { untilGivenBack } from "./given-back.js";
import { grantedTo } from "./grant.js";
import { AcquireLoop } from "./loop.js";
import type { AcquireOutcome } from "./outcome.js";
import type { AcquireSettings, AtTable, Contending, Granted } from "./settings.js";

interface Releasable {
  release(): Promise<unknown>;
}

/** What to acquire: the records, and how to grant them. */
interface Wanted<G extends readonly Granted[] | undefined, L extends Releasable> {
  readonly context: AcquireContext;
  readonly refs: readonly RecordRef[];
  readonly settings: HoldSettings;
  /** Resolves with undefined if the records are not available now. */
  grant(cancellation: Cancellation): Promise<G>;
  /** Makes the caller's handle on the grants. */
  begin(granted: NonNullable<G>, cancellation: Cancellation): L | Promise<L>;
}

/**
 * Runs an acquisition: cancels it, publishes its events and notes its grants in the history. Releases the lease if
 * the caller gave up, the client was closed, or the session has ended, just before the lease begins. Resolves with undefined if the
 * records are not available. Rejects with the error of {@link Cancellation}, or of the grant.
 */
export function withAcquisition<G extends readonly Granted[] | undefined, L extends Releasable>(
  acquisition: Wanted<G, L>,
): Promise<L | (G & undefined)> {
  return acquisition.context.tracked(acquireOnce(acquisition));
}

async function acquireOnce<G extends readonly Granted[] | undefined, L extends Releasable>(
  acquisition: Wanted<G, L>,
): Promise<L | (G & undefined)> {
  const { context, refs, settings } = acquisition;
  const fromMs = context.nowMs();
  const slice = context.acquires(context.admission.isBusy);
  if (slice !== undefined) await slice;
  const opening = context.rings?.opening;
  if (opening !== undefined) await opening;
  const cancellation = new Cancellation(context, refs, settings, fromMs);
  try {
    if (cancellation.isStopped) throw cancellation.error();
    const granted = await acquisition.grant(cancellation);
    const waitedMs = context.nowMs() - fromMs;
    if (granted === undefined) {
      failed(acquisition, undefined, waitedMs);
      return undefined as G & undefined;
    }
    for (const one of granted) {
      emitGrant(one.hold, one.how, waitedMs);
      const { how } = one;
      // The history has the grants of the table.
      if (how !== "kept") context.noteGrant?.(context, { ...one, how });
    }
    // Of several locks, each permit has a session of its own.
    const preparing = granted.flatMap(
      ({ hold }) => hold.settings.keptAliveBy?.prepare?.(hold) ?? [],
    );
    if (preparing.length > 0) await Promise.all(preparing);
    const lease = await acquisition.begin(granted, cancellation);
    // The caller may have given up, the client may have been closed, or the session may have ended, since the answer; and
    // during the preparation, which waits for the table, also the lease.
    const loss = preparing.length > 0 ? lossIn(granted) : undefined;
    if (!cancellation.isRefused && loss === undefined) return lease;
    // In an outage a release takes far longer than a caller that gave up waits.
    context.inBackground(async () => void (await lease.release()));
    throw cancellation.isRefused ? cancellation.error() : loss;
  } catch (error) {
    failed(acquisition, error, context.nowMs() - fromMs);
    throw error;
  } finally {
    cancellation.dispose();
  }
}

function lossIn(granted: readonly Granted[]): HoldfastError | undefined {
  return granted.map(({ hold }) => hold.loss).find((loss) => loss !== undefined);
}

function failed(
  { refs, settings }: Pick<Wanted<undefined, Releasable>, "refs" | "settings">,
  error: unknown,
  waitedMs: number,
): void {
  for (const ref of refs) {
    // No listener can know the name of a session that was not opened.
    if (ref.kind !== "session") emitAcquireFailed(ref, settings.owner, error, waitedMs);
  }
}

/**
 * Acquires a lease, waiting up to `waitMs` of the settings. Resolves with undefined if the lease is held and the wait
 * is 0, or if the record is absent and must exist. Calls `onGrant`, which must not throw, with how the lease was
 * granted, before the caller gets the lease.
 */
export function acquire(
  context: AcquireContext,
  ref: RecordRef,
  settings: AcquireSettings,
  onGrant?: (how: GrantEvent["how"]) => void,
): Promise<HeldLease | undefined> {
  return withAcquisition<readonly [Granted] | undefined, HeldLease>({
    context,
    refs: [ref],
    settings,
    grant: (cancellation) => granted({ context, ref, settings, cancellation }),
    begin: ([{ how, hold }]) => {
      onGrant?.(how);
      return HeldLease.toCaller(hold);
    },
  });
}

/** Waits in the local queue, then contends with other processes. */
async function granted({
  context,
  ref,
  settings,
  cancellation,
}: Omit<AtTable, "localQueue">): Promise<readonly [Granted] | undefined> {
  // Throws before the wait if the lease is too short. Otherwise a local hand-off of this lease would make the release
  // of the former holder fail.
  actingMs(context, settings.leaseMs);
  // A call that passes the queue does not wait behind the waiters of its own process either.
  const isBarging =
    settings.passage?.kind === "asker" ||
    (settings.queueing?.joins === "at once" && settings.passage?.kind === "barge");
  const localQueue = isBarging ? context.localQueues.alone(ref.id) : context.localQueues.of(ref.id);
  const contending = { context, ref, localQueue, settings, cancellation };
  cancellation.standIn(localQueue);
  if (isBarging) await untilGivenBack({ context, cancellation }, [ref]);
  if (!localQueue.tryEnter()) {
    if (settings.waitMs === 0 && localQueue.yields() === undefined) return undefined;
    cancellation.onWait(settings.owner);
    // A listener to that event may just have ended the wait. Nothing would then remove the waiter from the queue.
    if (cancellation.isStopped) throw cancellation.error();
    const turn = await localTurn(contending);
    if (turn.kind === "granted") {
      const how = turn.result.former === undefined ? "hand-over" : "kept";
      return [grantedTo(contending, turn.result, how, localQueue)];
    }
  }
  let got: Granted | undefined;
  try {
    // A waiter of this process may have left its place to this one: no claim without a ticket can succeed then.
    const hasPlace = localQueue.place !== undefined && settings.queueing !== undefined;
    const outcome: AcquireOutcome = hasPlace
      ? { kind: "queued" }
      : await new AcquireLoop(contending).run();
    if (outcome.kind === "granted") got = outcome.granted;
    else if (outcome.kind === "queued") {
      got = await settings.queueing?.acquire(contending);
    }
  } finally {
    // A lease keeps the turn until the lease ends. Without a lease, the next local waiter gets the turn.
    if (got === undefined) localQueue.next();
  }
  return got && [got];
}

/** Waits for a turn in the local queue. Rejects with the error of the cancellation. */
export function localTurn({
  localQueue,
  settings,
  cancellation,
}: Contending): Promise<Turn<GrantResult>> {
  const waiter = new LocalWaiter<HoldSettings, GrantResult>(settings, settings.queueing, (why) =>
    why === undefined ? cancellation.onResponse() : cancellation.onNoResponse(why),
  );
  // Before the wait, which tells the waiter its position: its listener may give up.
  cancellation.signal.addEventListener("abort", () =>
    localQueue.leave(waiter, cancellation.error()),
  );
  localQueue.wait(waiter);
  return waiter.turn;
}
