import ms from "ms";
import { HoldfastError } from "../errors.js";

/** A length of time: milliseconds, or a string such as `"30s"`, `"1.5h"` or `"250ms"`. */
export type Duration = number | string;

/** The allowed range of a duration in milliseconds, both ends included. */
export interface DurationRange {
  readonly leastMs: number;
  readonly mostMs: number;
}

/**
 * Converts a duration to milliseconds. Throws `invalid-argument` with the option's name for a value that is not
 * a duration or is out of range. Never corrects a value silently.
 */
export function durationMs(option: string, value: Duration, range: DurationRange): number {
  const parsed = typeof value === "number" ? value : parse(value);
  if (parsed === undefined || Number.isNaN(parsed)) {
    throw refuse(option, value, 'must be milliseconds or a string such as "30s"');
  }
  if (parsed < range.leastMs || parsed > range.mostMs) {
    const isOpen = range.mostMs === Number.POSITIVE_INFINITY;
    const must = isOpen
      ? `be at least ${range.leastMs} ms`
      : `lie between ${range.leastMs} ms and ${range.mostMs} ms`;
    throw refuse(option, value, `must ${must}`);
  }
  return parsed;
}

// A string without a unit is refused: "30" could mean seconds, and ms() would accept the string.
function parse(value: unknown): number | undefined {
  if (typeof value !== "string" || value.length > 100 || !/[a-z]\s*$/i.test(value))
    return undefined;
  return ms(value as ms.StringValue) as number | undefined;
}

function refuse(option: string, value: unknown, must: string): HoldfastError {
  const shown = typeof value === "string" ? JSON.stringify(value) : String(value);
  return new HoldfastError("invalid-argument", `The option \`${option}\` ${must}; it is ${shown}.`);
}
