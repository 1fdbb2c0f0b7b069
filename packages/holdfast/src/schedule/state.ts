import { refuse } from "../internal/option-names.js";
import { dateAt } from "../platform/clock.js";
import { MISSED_AFTER_MS } from "./decide.js";
import { type Failure, memoryIn, type Success } from "./memory.js";

/** What the record of a schedule, or of a task of `once()`, tells of its runs. */
export interface ScheduleState {
  /** The rule of the last process that wrote the record; undefined for a task of `once()`. */
  readonly rule: string | undefined;
  /** The last instant that was begun. */
  readonly due: Date;
  /** How its last run ended. Undefined while it goes on, if it was cut off, and before the first run. */
  readonly outcome: "completed" | "failed" | undefined;
  /** Whether its last run has not ended: it goes on, if the record has a live holder, or was cut off. */
  readonly isOpen: boolean;
  /** The number of the attempt for this instant; 0 before the first run. */
  readonly attempt: number;
  readonly by: string | undefined;
  readonly begun: Date | undefined;
  readonly ended: Date | undefined;
  /** When the instant is run again. */
  readonly retryAt: Date | undefined;
  /** The next instant, as the last run has written it. Undefined if none is left, or for a task of `once()`. */
  readonly next: Date | undefined;
  readonly lastSuccess: { readonly due: Date; readonly at: Date } | undefined;
  readonly lastFailure:
    | {
        readonly due: Date;
        readonly at: Date;
        readonly attempt: number;
        readonly by: string;
        readonly error: string;
      }
    | undefined;
}

/**
 * Returns what the user data of a record tell, as `inspect(locks, name, { kind: "once" })` and the listing of kind `once` show
 * them; undefined for data that name no instant. Pure; sends no request.
 */
export function scheduleState(data: unknown): ScheduleState | undefined {
  const memory = memoryIn(data);
  if (memory === undefined) return undefined;
  const { dueMs, outcome, attempt, success, failure, rule } = memory;
  // Of a task of `once()`, too: a schedule takes its runs for ended, whatever became of them.
  const isOpen = (data as { readonly ended?: unknown }).ended === false;
  const isOwn = rule !== "";
  const date = (ms: number | undefined): Date | undefined =>
    ms === undefined ? undefined : dateAt(ms);
  return {
    ...{ due: dateAt(dueMs), outcome, isOpen, rule: isOwn ? rule : undefined },
    attempt: isOwn ? attempt : 1,
    by: isOwn ? memory.by : undefined,
    begun: isOwn ? dateAt(memory.begunMs) : undefined,
    ended: date(memory.endMs),
    retryAt: date(memory.retryAtMs),
    next: date(memory.nextMs),
    lastSuccess: success && datesOf(success),
    lastFailure: failure && lastFailureOf(failure),
  };
}

function datesOf({ dueMs, atMs }: Success) {
  return { due: dateAt(dueMs), at: dateAt(atMs) };
}

function lastFailureOf({ attempt, by, error, ...rest }: Failure) {
  return { ...datesOf(rest), attempt, by, error };
}

/**
 * Returns by how many milliseconds a schedule is late at `nowMs`: its next instant, or retry, was due more than a minute ago,
 * and no run goes on. 0 if it is on time. `isRunning`: whether its open run has a live holder, which the data do not tell; by
 * default it is taken to have one. Throws `invalid-argument`. Pure.
 */
export function lateMs(state: ScheduleState, nowMs: number, isRunning = true): number {
  if (typeof Object(state).isOpen !== "boolean" || !Number.isFinite(nowMs)) {
    throw refuse(
      "The arguments of lateMs() must be what scheduleState() returns, which is undefined for data that name no instant, and the time in milliseconds.",
    );
  }
  const { isOpen, next, retryAt } = state;
  if (isOpen && isRunning) return 0;
  const dueMs = Math.min(
    ...[next, retryAt].map((one) => one?.getTime() ?? Number.POSITIVE_INFINITY),
  );
  const passedMs = nowMs - dueMs;
  return passedMs > MISSED_AFTER_MS ? passedMs : 0;
}
