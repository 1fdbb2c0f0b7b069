import { writeSync } from "node:fs";
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
  const line = printable(message.replace(/\s*\n\s*/g, " ").trim());
  output.err(output.isJson ? jsonLine({ error: { code, message: line } }) : `holdfast: ${line}`);
  return exitCode;
}

/** Text from a table may be anybody's: control characters are shown, not obeyed. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${character.codePointAt(0)?.toString(16).padStart(4, "0")}`,
  );
}

const GAP = "  ";

/** Rows under a heading, each column as wide as its widest cell. */
export function columns(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heading, ...rows].map((row) => row.map(printable));
  const widths = heading.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
    .join("\n");
}

/** A length of time for people. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 0)} s`;
}
