import { epochMsOf, isoTimeOf } from "../platform/clock.js";

/** A run that ended well. */
export interface Success {
  readonly dueMs: number;
  readonly atMs: number;
}

/** A run that failed, or was interrupted. */
export interface Failure extends Success {
  readonly attempt: number;
  readonly by: string;
  /** The text of the error, cut to 300 characters. */
  readonly error: string;
}

/** What the record of a schedule tells of its runs. Instants are in milliseconds since 1970, in the table's time. */
export interface Memory {
  /** The last instant that a run was begun for; of a record without a run, when the schedule was first seen. */
  readonly dueMs: number;
  /** Whether that run has ended. */
  readonly isEnded: boolean;
  readonly outcome?: "completed" | "failed" | undefined;
  /** The number of that run among those for the instant, from 1; 0 before the first run. */
  readonly attempt: number;
  /** The owner label of the run. */
  readonly by: string;
  readonly begunMs: number;
  readonly endMs?: number | undefined;
  /** When the instant is due again after a failure. */
  readonly retryAtMs?: number | undefined;
  /** Instants up to this one are passed over. */
  readonly pastMs?: number | undefined;
  readonly success?: Success | undefined;
  readonly failure?: Failure | undefined;
  /** The rule of the process that wrote this, and its next instant. */
  readonly rule: string;
  readonly nextMs?: number | undefined;
}

/**
 * Returns the user data of a record. `occurrence`, `ended` and `outcome` are those of `once()`, so that a process which runs
 * the same task by `once()` neither doubles nor precedes a run.
 */
export function dataOf(memory: Memory): object {
  const { dueMs, isEnded, outcome, success, failure, rule, attempt, by } = memory;
  return {
    occurrence: isoTimeOf(dueMs),
    ended: isEnded,
    ...(outcome === undefined ? {} : { outcome }),
    schedule: {
      ...{ rule, attempt, by, begun: isoTimeOf(memory.begunMs) },
      ...isoIfKnown("end", memory.endMs),
      ...isoIfKnown("retryAt", memory.retryAtMs),
      ...isoIfKnown("past", memory.pastMs),
      ...isoIfKnown("next", memory.nextMs),
      ...(success === undefined ? {} : { success: datesOf(success) }),
      ...(failure === undefined ? {} : { failure: failureData(failure) }),
    },
  };
}

function datesOf({ dueMs, atMs }: Success): object {
  return { due: isoTimeOf(dueMs), at: isoTimeOf(atMs) };
}

function failureData({ attempt, by, error, ...success }: Failure): object {
  return { ...datesOf(success), attempt, by, error };
}

function isoIfKnown(key: string, ms: number | undefined): object {
  return ms === undefined ? {} : { [key]: isoTimeOf(ms) };
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads the user data of a record, also that of `once()`, whose runs a schedule never repeats. Undefined if it names no
 * instant. Pure; never throws.
 */
export function memoryIn(data: unknown): Memory | undefined {
  const { occurrence, ended, outcome, schedule } = fieldsOf(data);
  const dueMs = instantIn(occurrence);
  if (dueMs === undefined) return undefined;
  const fields = fieldsOf(schedule);
  return {
    dueMs,
    isEnded: ended !== false || schedule === undefined,
    outcome: outcome === "completed" || outcome === "failed" ? outcome : undefined,
    attempt: countIn(fields["attempt"]),
    by: textIn(fields["by"]),
    begunMs: instantIn(fields["begun"]) ?? dueMs,
    endMs: instantIn(fields["end"]),
    retryAtMs: instantIn(fields["retryAt"]),
    pastMs: instantIn(fields["past"]),
    nextMs: instantIn(fields["next"]),
    success: successIn(fields["success"]),
    failure: failureIn(fields["failure"]),
    rule: textIn(fields["rule"]),
  };
}

function successIn(value: unknown): Success | undefined {
  const { due, at } = fieldsOf(value);
  const [dueMs, atMs] = [instantIn(due), instantIn(at)];
  return dueMs === undefined || atMs === undefined ? undefined : { dueMs, atMs };
}

function failureIn(value: unknown): Failure | undefined {
  const { attempt, by, error } = fieldsOf(value);
  const success = successIn(value);
  if (success === undefined) return undefined;
  return { ...success, attempt: countIn(attempt), by: textIn(by), error: textIn(error) };
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function instantIn(value: unknown): number | undefined {
  if (typeof value !== "string") return undefined;
  const ms = epochMsOf(value);
  return ms !== undefined && isoTimeOf(ms) === value ? ms : undefined;
}

function countIn(value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : 1;
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}
