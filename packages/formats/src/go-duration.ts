const UNITS_MS: Readonly<Record<string, number>> = Object.freeze({
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 1e-3,
  "\u00b5s": 1e-3,
  "\u03bcs": 1e-3,
  ns: 1e-6,
});

const PART = /(\d+(?:\.\d*)?|\.\d+)(ms|us|\u00b5s|\u03bcs|ns|h|m|s)/gy;

// Go counts nanoseconds in 63 bits.
const LONGEST_MS = 2 ** 63 / 1e6;

/**
 * Parses a duration as Go's `time.ParseDuration` does: `1h2m3.5s`, `500ms`. Returns milliseconds, possibly with
 * a fraction, or undefined for other text, such as digits without a unit or more than 292 years.
 */
export function goDurationMs(text: string): number | undefined {
  const unsigned = text.replace(/^[+-]/, "");
  if (unsigned === "0") return 0;
  let totalMs = 0;
  let read = 0;
  for (const [part, amount = "", unit = ""] of unsigned.matchAll(PART)) {
    totalMs += Number(amount) * (UNITS_MS[unit] ?? Number.NaN);
    read += part.length;
  }
  if (read === 0 || read < unsigned.length || totalMs >= LONGEST_MS) return undefined;
  return text.startsWith("-") ? -totalMs : totalMs;
}

/** Formats whole milliseconds as Go's `Duration.String` does: `1m30s`, `1.5s`, `500ms`. */
export function goDurationText(lengthMs: number): string {
  if (lengthMs < 1_000) return `${lengthMs}ms`;
  const hours = Math.floor(lengthMs / 3_600_000);
  const minutes = Math.floor(lengthMs / 60_000) % 60;
  const seconds = (lengthMs % 60_000) / 1_000;
  return `${hours > 0 ? `${hours}h` : ""}${hours + minutes > 0 ? `${minutes}m` : ""}${seconds}s`;
}
