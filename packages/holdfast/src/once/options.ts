import type { AcquireSettings } from "../core/acquire/settings.js";
import { resolveAcquire } from "../core/options.js";
import { DAY_MS, type Duration, durationMs, inMs } from "../internal/duration.js";
import { checkNames, checkOneOf, type OptionNames, refuse } from "../internal/option-names.js";
import { isoTimeOf } from "../platform/clock.js";
import type { Due } from "./due.js";

/**
 * Identifies an occurrence of a task.
 * - A `Date`, or milliseconds since 1970: the scheduled instant.
 * - Text: any text that sorts, such as `"2026-11-21"`.
 * - `{ every }`: the last multiple of the period by this machine's clock. Use it for a task that a schedule has just
 *   started, up to half a second early.
 *
 * An instant must not be later than the table's time by more than `maxClockError`, also as text in the format of
 * `toISOString()`. If this machine's clock is ahead by more, `{ every }` counts by the table's time.
 */
export type Occurrence = string | number | { getTime(): number } | { readonly every: Duration };

/** Options of {@link once}. */
export interface OnceOptions {
  /** The occurrence. A later occurrence has a higher value. After an occurrence, no earlier occurrence runs. */
  readonly occurrence: Occurrence;
  /** How long the run of a dead process blocks later occurrences. A live process renews the lease. Default 60 s. */
  readonly atMostFor?: Duration | undefined;
  /**
   * The minimum time from the start of a run during which no other occurrence runs. A client that closes before frees the
   * record at once. Default 0.
   */
  readonly atLeastFor?: Duration | undefined;
  /**
   * Whether to run an occurrence again after an interruption: its process died, its lease was lost, or its client
   * closed. An error of the task is not an interruption.
   * - `"skip"`, the default: the occurrence is not run again.
   * - `"rerun"`: a caller waits for the end of the run, and runs an interrupted occurrence again.
   *
   * After a call has resolved, its occurrence is never run again. Use the same value for all callers of a name.
   */
  readonly ifInterrupted?: "skip" | "rerun" | undefined;
  /** Ends the wait. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The label for people. Default: the client's owner. */
  readonly owner?: string | undefined;
}

const ONCE_NAMES: OptionNames<OnceOptions> = {
  occurrence: true,
  atMostFor: true,
  atLeastFor: true,
  ifInterrupted: true,
  signal: true,
  owner: true,
};

/** One call's options, resolved. */
export interface OnceSettings {
  readonly due: Due;
  readonly atLeastMs: number;
  readonly reruns: boolean;
  readonly grant: AcquireSettings;
}

/** Most tasks end within a minute; the leases of longer runs are renewed. */
const AT_MOST_MS = 60_000;
const LONGEST_OCCURRENCE = 200;

/** Resolves one call's options. Throws `invalid-argument`. */
export function resolveOnce(options: OnceOptions, owner: string): OnceSettings {
  checkNames("once()", options, ONCE_NAMES);
  const { atMostFor = AT_MOST_MS, atLeastFor = 0, ifInterrupted = "skip" } = options;
  checkOneOf("ifInterrupted", ifInterrupted, ["skip", "rerun"]);
  const leaseMs = durationMs("atMostFor", atMostFor, { leastMs: 100, mostMs: 365 * DAY_MS });
  return {
    due: dueOf(options.occurrence),
    atLeastMs: durationMs("atLeastFor", atLeastFor, { leastMs: 0, mostMs: 365 * DAY_MS }),
    reruns: ifInterrupted === "rerun",
    grant: {
      ...resolveAcquire([{ lease: inMs(leaseMs), wait: 0, owner: options.owner }], owner),
      signal: options.signal,
      // Each grant must keep the data of earlier occurrences in the record.
      existingData: "keep",
      keepData: true,
    },
  };
}

function dueOf(occurrence: Occurrence): Due {
  if (typeof occurrence === "string") {
    if (occurrence !== "" && occurrence.length <= LONGEST_OCCURRENCE) return { text: occurrence };
    throw refuse(
      `The option \`occurrence\` must have 1 to ${LONGEST_OCCURRENCE} characters; it has ${occurrence.length}.`,
    );
  }
  if (typeof occurrence === "object" && occurrence !== null && "every" in occurrence) {
    const range = { leastMs: 1, mostMs: 365 * DAY_MS };
    return { everyMs: durationMs("every", occurrence.every, range) };
  }
  const instantMs = typeof occurrence === "number" ? occurrence : occurrence?.getTime?.();
  if (Math.abs(instantMs) <= 8.64e15) return { text: isoTimeOf(instantMs) };
  throw refuse("The option `occurrence` must be text, a valid Date, milliseconds, or { every }.");
}
