import type { HeldLease, Lease } from "../core/hold/lease.js";
import { anySignal } from "../core/hold/loss-signal.js";
import { underTaskLease } from "../core/hold/task-lease.js";
import { textOf } from "../internal/shown.js";
import { dateAt } from "../platform/clock.js";
import type { Ended } from "./decide.js";
import type { Memory } from "./memory.js";

/** One run of a schedule, for its work. */
export interface ScheduledRun {
  /** The instant that is due: the same for every attempt. */
  readonly due: Date;
  /** The number of this attempt for the instant, from 1. */
  readonly attempt: number;
  /** The due instant of the last run that completed: work for a period begins there. Undefined before the first. */
  readonly lastSuccess: Date | undefined;
  /**
   * Aborts when the run must end: its lease is lost, the schedule stops, or the next instant interrupts it. A run that goes
   * on can overlap the next.
   */
  readonly signal: AbortSignal;
  /** The lease of this run, which ends with it, whether the work releases it or not. */
  readonly lease: Lease;
}

/** The work of a schedule. A run has failed if it throws, and if its signal aborts before it ends. */
export type ScheduledWork = (run: ScheduledRun) => unknown;

/** Runs the work to its end; never rejects. `stop` ends the run: by the next instant, or with the schedule. */
export async function runToEnd(
  work: ScheduledWork,
  lease: HeldLease,
  memory: Memory,
  stop: AbortSignal,
): Promise<{ readonly ended: Ended; readonly error?: unknown }> {
  const { dueMs, attempt, success } = memory;
  try {
    await underTaskLease(lease, (own) =>
      work({
        due: dateAt(dueMs),
        attempt,
        lastSuccess: success && dateAt(success.dueMs),
        signal: anySignal([lease.signal, stop]),
        lease: own,
      }),
    );
    return { ended: { kind: "completed" } };
  } catch (error) {
    return { ended: { kind: "failed", error: textOf(error) }, error };
  }
}
