import type { AcquireSettings } from "../core/acquire/settings.js";
import { resolveAcquire } from "../core/options.js";
import { HoldfastError } from "../errors.js";
import { type Duration, durationMs } from "../internal/duration.js";
import { isoTimeOf } from "../platform/clock.js";

/**
 * Which occurrence of a task it is. A `Date` or milliseconds since 1970: its instant as scheduled. Text:
 * any that sorts, such as `"2026-11-21"`. `{ every }`: the multiple of a period that is nearest to this
 * machine's civil time, for a task that its own schedule has just started.
 */
export type Occurrence = string | number | { getTime(): number } | { readonly every: Duration };

/** Options of `Holdfast.once`. */
export interface OnceOptions {
  /** Which one it is. A later one has a higher value, and no earlier one runs after it. */
  readonly occurrence: Occurrence;
  /**
   * For how long a run that died keeps later occurrences out; a live run is renewed, and may take longer.
   * Default 60 s.
   */
  readonly atMostFor?: Duration | undefined;
  /** For how long after its beginning a run keeps other occurrences out at least. Default 0. */
  readonly atLeastFor?: Duration | undefined;
  /**
   * What becomes of an occurrence whose run was interrupted: its process died, its lease was lost, or its
   * client was closed. `"skip"`, the default: it is not run again. `"rerun"`: a caller waits for the end of
   * the run, and runs it again if it was interrupted. An occurrence of which a call resolved is never run
   * again. Give all callers of one name the same value.
   */
  readonly ifInterrupted?: "skip" | "rerun" | undefined;
  /** Ends a wait. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** A label for people. Default: the client's owner. */
  readonly owner?: string | undefined;
}

/** One call's options, resolved. */
export interface OnceSettings {
  readonly occurrence: string;
  readonly atLeastMs: number;
  readonly reruns: boolean;
  readonly grant: AcquireSettings;
}

/** A minute: most tasks end within it, and those that do not are renewed. */
const AT_MOST_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
const LONGEST_OCCURRENCE = 200;

const refuse = (message: string): HoldfastError => new HoldfastError("invalid-argument", message);

/** Resolves one call's options. `wallMs` is this machine's civil time. Throws `invalid-argument`. */
export function resolveOnce(options: OnceOptions, owner: string, wallMs: number): OnceSettings {
  const { atMostFor = AT_MOST_MS, atLeastFor = 0, ifInterrupted = "skip" } = options;
  if (ifInterrupted !== "skip" && ifInterrupted !== "rerun") {
    throw refuse(
      `The option \`ifInterrupted\` must be "skip" or "rerun"; it is "${ifInterrupted}".`,
    );
  }
  const leaseMs = durationMs("atMostFor", atMostFor, { leastMs: 100, mostMs: 365 * DAY_MS });
  return {
    occurrence: occurrenceText(options.occurrence, wallMs),
    atLeastMs: durationMs("atLeastFor", atLeastFor, { leastMs: 0, mostMs: 365 * DAY_MS }),
    reruns: ifInterrupted === "rerun",
    grant: {
      ...resolveAcquire([{ lease: leaseMs, wait: 0, owner: options.owner }], owner),
      signal: options.signal,
      // What the record says of earlier occurrences is what this is about.
      existingData: "keep",
      keepData: true,
    },
  };
}

function occurrenceText(occurrence: Occurrence, wallMs: number): string {
  if (typeof occurrence === "string") {
    if (occurrence !== "" && occurrence.length <= LONGEST_OCCURRENCE) return occurrence;
    throw refuse(`The option \`occurrence\` must have 1 to ${LONGEST_OCCURRENCE} characters.`);
  }
  const instantMs = instantOf(occurrence, wallMs);
  if (Number.isFinite(instantMs) && Math.abs(instantMs) <= 8.64e15) return isoTimeOf(instantMs);
  throw refuse("The option `occurrence` must be text, a valid Date, milliseconds, or { every }.");
}

function instantOf(occurrence: Exclude<Occurrence, string>, wallMs: number): number {
  if (typeof occurrence === "number") return occurrence;
  if (typeof occurrence !== "object" || occurrence === null) return Number.NaN;
  if ("getTime" in occurrence) return occurrence.getTime();
  const everyMs = durationMs("every", occurrence.every, { leastMs: 1, mostMs: 365 * DAY_MS });
  // The nearest, not the last: a timer may fire a little early.
  return Math.round(wallMs / everyMs) * everyMs;
}
