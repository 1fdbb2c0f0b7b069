import { Contention, type Granted } from "./loop.js";
import { actingMs } from "../hold/deadline.js";
import { type GrantEvent, tellGrant, tellRefusal } from "../events.js";
import type { RecordRef } from "../record/format.js";
import { noteGrant } from "../../admin/history.js";
import { Hold } from "../hold/hold.js";
import type { Kernel } from "../context.js";
import { Lease } from "../hold/lease.js";
import { type Line, type Turn, Waiter } from "../local-queue.js";
import type { AcquireSettings } from "../options.js";
import { Stop } from "./cancellation.js";

/**
 * Acquires a lease, waiting as long as the settings say; undefined if somebody else has it at the end
 * of a wait of 0, or there is no record and one was required. Rejects with the error of {@link Stop}.
 * `onGrant` is told how it was granted, before the lease is handed out; it must not throw.
 */
export function acquire(
  kernel: Kernel,
  ref: RecordRef,
  settings: AcquireSettings,
  onGrant?: (how: GrantEvent["how"]) => void,
): Promise<Lease | undefined> {
  return kernel.tracked(acquireLease(kernel, ref, settings, onGrant));
}

async function acquireLease(
  kernel: Kernel,
  ref: RecordRef,
  settings: AcquireSettings,
  onGrant: ((how: GrantEvent["how"]) => void) | undefined,
): Promise<Lease | undefined> {
  const fromMs = kernel.nowMs();
  const stop = new Stop(kernel, [ref], settings);
  try {
    if (stop.isStopped) throw stop.error();
    // Too short a lease is refused before it waits: handed over, it would fail the release of another.
    actingMs(kernel, settings.leaseMs);
    const granted = await grantedOrNot(kernel, ref, settings, stop);
    const waitedMs = kernel.nowMs() - fromMs;
    if (granted === undefined) tellRefusal(ref, settings.owner, undefined, waitedMs);
    else {
      onGrant?.(granted.how);
      tellGrant(granted.hold, granted.how, waitedMs);
      noteGrant(kernel, granted);
    }
    return granted && (await begun(Lease.on(granted.hold), stop));
  } catch (error) {
    tellRefusal(ref, settings.owner, error, kernel.nowMs() - fromMs);
    throw error;
  } finally {
    stop.dispose();
  }
}

async function grantedOrNot(
  kernel: Kernel,
  ref: RecordRef,
  settings: AcquireSettings,
  stop: Stop,
): Promise<Granted | undefined> {
  // Whoever has a place in the queue stands in no other line.
  const inOrder = settings.queueing?.joins === "at once";
  const line = inOrder ? kernel.lines.alone() : kernel.lines.of(ref.id);
  stop.standIn(line);
  if (!line.tryTurn()) {
    if (settings.waitMs === 0) return undefined;
    stop.waits(settings.owner);
    // Whoever listens to that may have ended it just now, and nobody would take it out of the line.
    if (stop.isStopped) throw stop.error();
    const turn = await turnInLine(line, settings, stop);
    if (turn !== "contend") {
      const hold = new Hold(kernel, ref, line, turn);
      return { hold, record: turn.record, how: "hand-over" };
    }
  }
  return contend(kernel, ref, line, settings, stop);
}

// The client may have been closed, or the session have ended, between the answer and the beginning of the lease.
async function begun(lease: Lease, stop: Stop): Promise<Lease> {
  if (!stop.isRefused) return lease;
  await lease.release();
  throw stop.error();
}

function turnInLine(line: Line, settings: AcquireSettings, stop: Stop): Promise<Turn> {
  const waiter = new Waiter(settings);
  line.wait(waiter);
  stop.signal.addEventListener("abort", () => line.leave(waiter, stop.error()));
  return waiter.turn;
}

async function contend(
  kernel: Kernel,
  ref: RecordRef,
  line: Line,
  settings: AcquireSettings,
  stop: Stop,
): Promise<Granted | undefined> {
  let granted: Granted | undefined;
  try {
    const outcome = await new Contention(kernel, ref, line, settings, stop).run();
    if (typeof outcome === "object") granted = outcome;
    else if (outcome === "queued") {
      granted = await settings.queueing?.acquire(kernel, ref, line, settings, stop);
    }
    return granted;
  } finally {
    // A lease keeps the turn until it ends; without one the next waiter of this process gets it.
    if (granted === undefined) line.next();
  }
}
