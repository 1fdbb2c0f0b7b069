import { writeSync } from "node:fs";
import { shown, visible } from "../../internal/shown.js";
import { failureOf } from "./exit-codes.js";

/** Where a command writes. */
export interface Output {
  readonly isJson: boolean;
  /** One line, or several, on stdout. */
  out(text: string): void;
  /** One line, or several, on stderr. */
  err(text: string): void;
}

/** What runs a command: each is loaded only when it is asked for, so that help does not wait. */
export type Run = (output: Output) => Promise<number>;

/**
 * The two streams of this process, written at once. `process.stdout` is not used: Node makes a pipe
 * behind it non-blocking, for the child that shares it as well, which then loses output to EAGAIN.
 */
export function standardOutput(isJson: boolean): Output {
  return {
    isJson,
    out: (text) => writeAll(1, `${text}\n`),
    err: (text) => writeAll(2, `${text}\n`),
  };
}

const RETRY_MS = 5;

function writeAll(descriptor: number, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Whoever read has gone, or the stream was closed: nobody is left to tell.
      if (code !== "EAGAIN") return;
      // Somebody else made the stream non-blocking, and it is full.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

/** One line of JSON; a bigint, which JSON has not, as a string of digits, and bytes in base64. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, key, found) {
    // A Buffer has turned itself into something else by now.
    const raw = this[key];
    if (raw instanceof Uint8Array) return Buffer.from(raw).toString("base64");
    return typeof found === "bigint" ? found.toString() : found;
  });
}

/** Tells an error, on one line and without a stack; answers the exit status. */
export function tellFailure(output: Output, error: unknown): number {
  const { code, message, exitCode } = failureOf(error);
  const line = visible(onOneLine(message));
  output.err(output.isJson ? jsonLine({ error: { code, message: line } }) : `holdfast: ${line}`);
  return exitCode;
}

function onOneLine(message: string): string {
  const lines = message.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "").join(" ");
}

// More than a name and an owner of the greatest length that this library writes.
const LONGEST_LINE = 4_000;

/** Text from a table may be anybody's, and of any length: it is cut, and control characters are not obeyed. */
export function printable(text: string): string {
  return shown(text, LONGEST_LINE);
}

// As wide as a terminal: one owner of 400 KB would pad that cell of every other row.
const WIDEST_CELL = 80;

/** Text for one cell of a table. One that is wider than a terminal ends in an ellipsis; `--json` has the whole. */
export function cell(text: string): string {
  return shown(text, WIDEST_CELL);
}

const GAP = "  ";

/** Rows under a heading, each column as wide as its widest cell. */
export function columns(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heading, ...rows].map((row) => row.map(cell));
  const widths = heading.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((text, at) => text.padEnd(widths[at] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
    .join("\n");
}

/** A length of time for people. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 0)} s`;
}
