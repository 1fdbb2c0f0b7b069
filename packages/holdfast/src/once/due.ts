import type { ClientContext } from "../core/context.js";
import { HoldfastError } from "../errors.js";
import { epochMsOf, isoTimeOf } from "../platform/clock.js";

/** An occurrence as the caller gave it: its text, or a period in milliseconds. */
export type Due = { readonly text: string } | { readonly everyMs: number };

// A timer may fire slightly early. Schedules name whole seconds, so no schedule is due half a second before a multiple.
const EARLY_MS = 500;

// Two clients bound the table's time differently, at most by the time of a request and by what two servers differ. A
// client must not pass over an occurrence that another client has just begun in time.
const REPAIR_AFTER_MS = 60_000;

/**
 * Returns the occurrence of a call, `sinceMs` after the call. With a period, it is the last multiple of the period at the
 * call, by this machine's clock. If that clock is wrong, the table's time counts, as for fences. Throws `misconfigured`
 * for an instant later than the table's time by more than `maxClockError`: after it, no earlier occurrence would run.
 */
export function occurrenceOf(
  context: ClientContext,
  due: Due,
  sinceMs: number,
  name: string,
): string {
  const latestMs = latestInstantMs(context);
  if ("text" in due) {
    const aheadMs = aheadOf(due.text, latestMs);
    if (aheadMs > 0) throw tooLate(name, due.text, aheadMs);
    return due.text;
  }
  const { everyMs } = due;
  const wallMs = context.wallMs();
  const nowMs = wallMs > latestMs ? (context.tableClock.boundMs ?? wallMs) : wallMs;
  const earlyMs = Math.min(EARLY_MS, everyMs / 2);
  return isoTimeOf(Math.floor((nowMs - sinceMs + earlyMs) / everyMs) * everyMs);
}

/**
 * Whether a record names an instant, `last`, so late that only a wrong clock can have named it. The instant `occurrence`
 * then counts as later.
 */
export function isFromWrongClock(
  context: ClientContext,
  last: string,
  occurrence: string,
): boolean {
  const latestMs = latestInstantMs(context) + REPAIR_AFTER_MS;
  return aheadOf(last, latestMs) > 0 && aheadOf(occurrence, latestMs) < 0;
}

/** Returns the error for a record that {@link isFromWrongClock}, which `occurrence` replaces. */
export function wrongClockRepaired(name: string, last: string, occurrence: string): HoldfastError {
  return new HoldfastError(
    "misconfigured",
    `The record of task "${name}" named occurrence ${last}, which is not due yet: a process with a wrong clock began it. ` +
      `Occurrence ${occurrence} replaced it, and ${last} can run again when it is due. Correct the clock of that machine.`,
    { lockName: name },
  );
}

/** The latest instant that can be due, by the table's time. Infinity if this client does not know the table's time. */
function latestInstantMs({ tableClock, settings }: ClientContext): number {
  return (tableClock.boundMs ?? Number.POSITIVE_INFINITY) + settings.maxClockErrorMs;
}

/** Returns by how much an occurrence is later than an instant; 0 for other text than that of an instant. */
function aheadOf(occurrence: string, latestMs: number): number {
  const instantMs = epochMsOf(occurrence);
  if (instantMs === undefined || isoTimeOf(instantMs) !== occurrence) return 0;
  return instantMs - latestMs;
}

function tooLate(name: string, occurrence: string, aheadMs: number): HoldfastError {
  return new HoldfastError(
    "misconfigured",
    `Occurrence ${occurrence} of "${name}" was not begun: it is due ${Math.ceil(aheadMs)} ms later than the table's time ` +
      "and `maxClockError` allow, and no earlier occurrence would run after it. Correct the clock of this machine, or " +
      "name the occurrence by another text than an instant.",
    { lockName: name },
  );
}
