import { publish } from "../platform/diagnostics.js";
import type { Memory } from "./memory.js";

/** The name of the channel of `node:diagnostics_channel` on which schedules publish. */
export const SCHEDULE_CHANNEL = "holdfast:schedule:run";

/** A run of a schedule begins or ends, in this process. */
export interface ScheduleRunEvent {
  /** The schedule's name. */
  readonly name: string;
  /** The owner label of this process. */
  readonly owner: string;
  /**
   * `start`; then `completed`, or `failed`: the run threw, was stopped, or lost its lease; or `interrupted`, in place of
   * all three, when this process finds that the run of another one was cut off. The process that runs the instant again, or the
   * next one, tells of it. If none does so at once, each process that saw the run alive tells of it before. If the table does
   * not answer then, each process may tell of the same run.
   */
  readonly phase: "start" | "completed" | "failed" | "interrupted";
  /** The due instant, in milliseconds since 1970. */
  readonly dueMs: number;
  /** The number of the attempt for this instant, from 1. */
  readonly attempt: number;
  /** How long after the due instant the run began, in milliseconds. */
  readonly lateMs: number;
  /** How long the run took; 0 at the start. */
  readonly ranMs: number;
  /** With `failed` and `interrupted`: the text of the error. */
  readonly error: string | undefined;
}

/** Publishes a message, if the channel has subscribers. */
export function emitRun(
  subject: Pick<ScheduleRunEvent, "name" | "owner" | "phase">,
  run: Pick<Memory, "dueMs" | "attempt" | "begunMs">,
  ranMs: number,
  error: string | undefined,
): void {
  publish(SCHEDULE_CHANNEL, () => {
    const { dueMs, attempt, begunMs } = run;
    return { ...subject, dueMs, attempt, lateMs: Math.max(0, begunMs - dueMs), ranMs, error };
  });
}
