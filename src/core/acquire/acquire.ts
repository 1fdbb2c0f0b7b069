import { emitAcquireFailed, emitGrant, type GrantEvent } from "../events.js";
import { actingMs } from "../hold/deadline.js";
import { type GrantResult, Hold, type HoldQueue, type HoldSettings } from "../hold/hold.js";
import { Lease } from "../hold/lease.js";
import { LocalWaiter, type Turn } from "../local-queue.js";
import type { RecordRef } from "../record/format.js";
import { Cancellation } from "./cancellation.js";
import type { AcquireContext } from "./context.js";
import { AcquireLoop } from "./loop.js";
import { noteGrant } from "./note-grant.js";
import type { AcquireSettings, Granted } from "./settings.js";

/**
 * Acquires a lease, waiting as long as the settings say; undefined if somebody else has it at the end
 * of a wait of 0, or there is no record and one was required. Rejects with the error of {@link Cancellation}.
 * `onGrant` is told how it was granted, before the lease is handed out; it must not throw.
 */
export function acquire(
  context: AcquireContext,
  ref: RecordRef,
  settings: AcquireSettings,
  onGrant?: (how: GrantEvent["how"]) => void,
): Promise<Lease | undefined> {
  return context.tracked(acquireLease(context, ref, settings, onGrant));
}

async function acquireLease(
  context: AcquireContext,
  ref: RecordRef,
  settings: AcquireSettings,
  onGrant: ((how: GrantEvent["how"]) => void) | undefined,
): Promise<Lease | undefined> {
  const fromMs = context.nowMs();
  const cancellation = new Cancellation(context, [ref], settings);
  try {
    if (cancellation.isStopped) throw cancellation.error();
    // Too short a lease is refused before it waits: handed over, it would fail the release of another.
    actingMs(context, settings.leaseMs);
    const granted = await grantedOrNot(context, ref, settings, cancellation);
    const waitedMs = context.nowMs() - fromMs;
    if (granted === undefined) emitAcquireFailed(ref, settings.owner, undefined, waitedMs);
    else {
      onGrant?.(granted.how);
      emitGrant(granted.hold, granted.how, waitedMs);
      noteGrant(context, granted);
    }
    return granted && (await begun(Lease.on(granted.hold), cancellation));
  } catch (error) {
    emitAcquireFailed(ref, settings.owner, error, context.nowMs() - fromMs);
    throw error;
  } finally {
    cancellation.dispose();
  }
}

async function grantedOrNot(
  context: AcquireContext,
  ref: RecordRef,
  settings: AcquireSettings,
  cancellation: Cancellation,
): Promise<Granted | undefined> {
  // Whoever has a place in the queue stands in no other line.
  const inOrder = settings.queueing?.joins === "at once";
  const localQueue = inOrder ? context.localQueues.alone() : context.localQueues.of(ref.id);
  cancellation.standIn(localQueue);
  if (!localQueue.tryEnter()) {
    if (settings.waitMs === 0) return undefined;
    cancellation.onWait(settings.owner);
    // Whoever listens to that may have ended it just now, and nobody would take it out of the line.
    if (cancellation.isStopped) throw cancellation.error();
    const turn = await turnInLine(localQueue, settings, cancellation);
    if (turn !== "contend") {
      const hold = new Hold(context, ref, localQueue, turn);
      return { hold, record: turn.record, how: "hand-over" };
    }
  }
  return contend(context, ref, localQueue, settings, cancellation);
}

// The client may have been closed, or the session have ended, between the answer and the beginning of the lease.
async function begun(lease: Lease, cancellation: Cancellation): Promise<Lease> {
  if (!cancellation.isRefused) return lease;
  await lease.release();
  throw cancellation.error();
}

function turnInLine(
  localQueue: HoldQueue,
  settings: AcquireSettings,
  cancellation: Cancellation,
): Promise<Turn<GrantResult>> {
  const waiter = new LocalWaiter<HoldSettings, GrantResult>(settings);
  localQueue.wait(waiter);
  cancellation.signal.addEventListener("abort", () =>
    localQueue.leave(waiter, cancellation.error()),
  );
  return waiter.turn;
}

async function contend(
  context: AcquireContext,
  ref: RecordRef,
  localQueue: HoldQueue,
  settings: AcquireSettings,
  cancellation: Cancellation,
): Promise<Granted | undefined> {
  let granted: Granted | undefined;
  try {
    const outcome = await new AcquireLoop(context, ref, localQueue, settings, cancellation).run();
    if (typeof outcome === "object") granted = outcome;
    else if (outcome === "queued") {
      granted = await settings.queueing?.acquire(context, ref, localQueue, settings, cancellation);
    }
    return granted;
  } finally {
    // A lease keeps the turn until it ends; without one the next waiter of this process gets it.
    if (granted === undefined) localQueue.next();
  }
}
