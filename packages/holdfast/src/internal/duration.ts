import ms from "ms";
import type { HoldfastError } from "../errors.js";
import { refuse } from "./option-names.js";
import { valueText } from "./value-text.js";

/**
 * A length of time: a string such as `"30s"`, `"1.5h"` or `"250ms"`, or milliseconds. Of the numbers below 1,000 only 0
 * is accepted, since `30` mostly means seconds: a shorter length is a string (`` `${lengthMs}ms` `` if it is computed).
 */
export type Duration = number | string;

/** The allowed range of a duration in milliseconds, both ends included. */
export interface DurationRange {
  readonly leastMs: number;
  readonly mostMs: number;
}

export const DAY_MS = 24 * 3_600_000;

// No usual length is so long in seconds or minutes that its number alone is above.
const LEAST_NUMBER_MS = 1_000;

/**
 * Converts a duration to milliseconds. Throws `invalid-argument` with the option's name for a value that is not
 * a duration or is out of range. Never corrects a value silently.
 */
export function durationMs(option: string, value: Duration, range: DurationRange): number {
  const parsed = typeof value === "number" ? value : parse(value);
  if (parsed === undefined || Number.isNaN(parsed)) {
    throw wrong(option, value, 'must be milliseconds or a string such as "30s"');
  }
  if (typeof value === "number" && value > 0 && value < LEAST_NUMBER_MS) {
    throw wrong(
      option,
      value,
      `needs a unit below one second: write "${value}ms", or "${value}s" or "${value}m" if that was meant`,
    );
  }
  if (parsed < range.leastMs || parsed > range.mostMs) {
    const isOpen = range.mostMs === Number.POSITIVE_INFINITY;
    const must = isOpen
      ? `be at least ${range.leastMs} ms`
      : `lie between ${range.leastMs} ms and ${range.mostMs} ms`;
    throw wrong(option, value, `must ${must}`);
  }
  return parsed;
}

/** The inverse of {@link durationMs}, for options that the library computes itself. */
export function inMs(lengthMs: number): Duration {
  return lengthMs > 0 && lengthMs < LEAST_NUMBER_MS ? `${lengthMs}ms` : lengthMs;
}

// A string without a unit is refused: "30" could mean seconds, and ms() would accept the string.
function parse(value: unknown): number | undefined {
  if (typeof value !== "string" || value.length > 100 || !/[a-z]\s*$/i.test(value))
    return undefined;
  const parsed: number = ms(value as ms.StringValue);
  // 16.1 seconds are 16100.000000000002 ms in binary.
  const whole = Math.round(parsed);
  return Math.abs(parsed - whole) < 1e-6 ? whole : parsed;
}

function wrong(option: string, value: unknown, must: string): HoldfastError {
  return refuse(`The option \`${option}\` ${must}; it is ${valueText(value)}.`);
}
