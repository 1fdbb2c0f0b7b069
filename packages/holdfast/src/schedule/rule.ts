import { Cron } from "croner";
import { HoldfastError } from "../errors.js";
import { DAY_MS, type Duration, durationMs } from "../internal/duration.js";
import { valueText } from "../internal/value-text.js";
import { dateAt, epochMsOf, isoTimeOf } from "../platform/clock.js";

/** The due instants of a schedule, in milliseconds since 1970. Pure. */
export interface Rule {
  /** For people: it stands in the record. */
  readonly text: string;
  /** Returns the first instant after `ms`, or undefined if there is none. */
  next(ms: number): number | undefined;
  /** Returns the last instant up to `ms`, `ms` included, or undefined if there is none. */
  last(ms: number): number | undefined;
}

/** When a schedule is due: one of a cron expression, a period, or a list of instants. */
export interface Timing {
  /**
   * A cron expression of five fields, or of six with seconds first. As in Vixie cron, an expression with one time of day
   * runs once on the day on which the clocks change: after the gap, or at the first of two equal times. Others skip the gap,
   * and run at both of two equal times.
   */
  readonly cron?: string | undefined;
  /** The IANA time zone of `cron`. Default `"UTC"`, never the machine's: all processes must name the same instants. */
  readonly timeZone?: string | undefined;
  /** The time from one instant to the next: the instants are the multiples since 1970, in UTC. */
  readonly every?: Duration | undefined;
  /** How long after the multiples of `every` the instants are: below `every`. Default 0. */
  readonly offset?: Duration | undefined;
  /** The instants: each a `Date`, milliseconds since 1970, or ISO text with a time zone. At most 1,000. */
  readonly at?: readonly (string | number | { getTime(): number })[] | undefined;
}

const refuse = (message: string, cause?: unknown): HoldfastError =>
  new HoldfastError("invalid-argument", message, cause === undefined ? undefined : { cause });

const SECOND_MS = 1_000;
const EVERY_RANGE = { leastMs: SECOND_MS, mostMs: 365 * DAY_MS };
const MOST_INSTANTS = 1_000;

/** Resolves the instants of a schedule. Throws `invalid-argument`. */
export function ruleOf({ cron, timeZone, every, offset, at }: Timing): Rule {
  const given = [cron, every, at].filter((one) => one !== undefined);
  if (given.length !== 1) {
    throw refuse("A schedule needs exactly one of `cron`, `every` and `at`.");
  }
  if (timeZone !== undefined && cron === undefined)
    throw refuse("The option `timeZone` needs `cron`.");
  if (offset !== undefined && every === undefined)
    throw refuse("The option `offset` needs `every`.");
  if (cron !== undefined) return cronRule(cron, timeZone);
  return every === undefined ? listRule(at ?? []) : everyRule(every, offset);
}

function cronRule(cron: string, timeZone = "UTC"): Rule {
  const parsed = parseCron(cron, timeZone);
  return {
    text: `cron ${cron} ${timeZone}`,
    next: (ms) => parsed.nextRun(dateAt(ms))?.getTime(),
    // The library looks before the reference, which is not included, and instants are whole seconds.
    last: (ms) => {
      const after = Math.floor(ms / SECOND_MS) * SECOND_MS + SECOND_MS;
      return parsed.previousRuns(1, dateAt(after))[0]?.getTime();
    },
  };
}

function parseCron(cron: string, timeZone: string): Cron {
  try {
    // Croner takes "" for the machine's zone, and a number for an offset in minutes; with NaN it loops for ever.
    if (typeof cron !== "string" || typeof timeZone !== "string" || timeZone === "")
      throw new TypeError("Both must be text.");
    const parsed = new Cron(cron, { timezone: timeZone, mode: "5-or-6-parts", paused: true });
    // Croner also takes an instant for an expression, such as "1 10:30", but no field has a colon.
    if (/\d-\d+T|:/.test(cron)) throw new TypeError("An instant is one of `at`.");
    // The zone is checked only by a use.
    if (parsed.nextRun(dateAt(0)) === null) throw new TypeError("It names no day that exists.");
    return parsed;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw refuse(
      `No schedule follows from cron ${valueText(cron)} in time zone ${valueText(timeZone)}: ${why}`,
      cause,
    );
  }
}

function everyRule(every: Duration, offset: Duration = 0): Rule {
  const everyMs = durationMs("every", every, EVERY_RANGE);
  const offsetMs = durationMs("offset", offset, { leastMs: 0, mostMs: everyMs - 1 });
  if (!Number.isInteger(everyMs) || !Number.isInteger(offsetMs))
    throw refuse("The options `every` and `offset` must be whole milliseconds.");
  const last = (ms: number): number => Math.floor((ms - offsetMs) / everyMs) * everyMs + offsetMs;
  return {
    text: `every ${every}${offsetMs === 0 ? "" : ` + ${offset}`}`,
    next: (ms) => last(ms) + everyMs,
    last,
  };
}

function listRule(at: NonNullable<Timing["at"]>): Rule {
  if (!Array.isArray(at) || at.length === 0 || at.length > MOST_INSTANTS) {
    throw refuse(`The option \`at\` must be a list of 1 to ${MOST_INSTANTS} instants.`);
  }
  const instants = at.map(instantOf).sort((one, other) => one - other);
  return {
    text: `at ${instants.length} instants`,
    next: (ms) => instants.find((instant) => instant > ms),
    last: (ms) => instants.findLast((instant) => instant <= ms),
  };
}

// Text without a zone would be another instant on each machine.
const ZONE = /(?:Z|[+-]\d{2}:?\d{2})$/;

function instantOf(at: string | number | { getTime(): number }): number {
  const isText = typeof at === "string";
  const ms = isText
    ? at.includes("T") && ZONE.test(at)
      ? epochMsOf(at)
      : undefined
    : typeof at === "number"
      ? at
      : at?.getTime?.();
  // The record keeps whole milliseconds: an instant between two would seem later than its own run, and run again.
  const isValid = Number.isInteger(ms) && Math.abs(ms as number) <= 8.64e15;
  if (isValid && !(isText && isRolledOver(at))) return ms as number;
  throw refuse(
    "Each instant of `at` must be a valid Date, whole milliseconds, or ISO text with a time zone.",
  );
}

/** Whether the text names a day that its month does not have, of which `Date` makes one of the next month. */
function isRolledOver(text: string): boolean {
  const day = text.slice(0, text.indexOf("T"));
  return !isoTimeOf(epochMsOf(`${day}T00:00:00Z`) ?? 0).startsWith(day);
}
