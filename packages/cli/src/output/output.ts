import { epochMsOf, isHoldfastError, shown, visible, withoutHidden } from "holdfast/internal";
import type { Host } from "../host.js";
import { CliError, EXIT, failureOf } from "./exit-codes.js";

/** Where a command writes. The only way to the two streams: it escapes control characters. */
export interface Output {
  readonly isJson: boolean;
  /** The width of the terminal on stdout; infinite without a terminal. */
  readonly width: number;
  /** Writes one or more lines to stdout. Throws if they cannot be written. */
  out(text: string): void;
  /** Writes one or more lines to stderr. */
  err(text: string): void;
  /** Writes a note to stderr, unless `--quiet` is set: a remark that is neither the result nor an error. */
  note(text: string): void;
}

/** Runs a command. The code of each command is loaded on use, so that help starts fast. */
export type Run = (output: Output, host: Host) => Promise<number>;

/** Receives the run that the words of a command line ask for. */
export type OnRun = (run: Run) => void;

// The status of a command that SIGPIPE has ended, because the reader of the output has gone. Node.js ignores SIGPIPE.
const BROKEN_PIPE = EXIT.signalled + 13;

/** The reader of stdout has gone, so the rest of the output has no recipient. */
class ReaderGone extends CliError {
  constructor() {
    super("reader-gone", BROKEN_PIPE, "The reader of the output has gone.");
  }
}

/** Returns the output of a run on the two streams of its host. */
export function outputOn(
  { stdout, stderr }: Pick<Host, "stdout" | "stderr">,
  isJson: boolean,
  isQuiet = false,
): Output {
  const err = (text: string): void => {
    // A failure on stderr cannot be reported anywhere, and must not hide the result.
    stderr.write(safe(text, isJson));
  };
  return {
    isJson,
    get width() {
      return stdout.width;
    },
    out: (text) => {
      const code = stdout.write(safe(text, isJson));
      if (code === "EPIPE") throw new ReaderGone();
      if (code === undefined) return;
      const why = `The output could not be written (${code}), and is not complete.`;
      throw new CliError("output", EXIT.io, why);
    },
    err,
    note: (text) => {
      if (!isQuiet) err(isJson ? jsonLine({ note: text }) : `holdfast: ${text}`);
    },
  };
}

/** Escapes control characters before the output reaches a terminal, in case a command has not escaped them. */
function safe(text: string, isJson: boolean): string {
  const escaped = isJson ? escapedInJson : visible;
  return `${text.split("\n").map(escaped).join("\n")}\n`;
}

/** Escapes hidden characters in a text of JSON. */
export function escapedInJson(text: string): string {
  return withoutHidden(text, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** Formats one line of JSON, with a bigint as a string of digits and bytes in base64. */
export function jsonLine(value: unknown): string {
  const text = JSON.stringify(
    value,
    function (this: Readonly<Record<string, unknown>>, key, found) {
      // JSON.stringify has already called the Buffer's `toJSON`.
      const raw = this[key];
      if (raw instanceof Uint8Array) return Buffer.from(raw).toString("base64");
      return typeof found === "bigint" ? found.toString() : found;
    },
  );
  return escapedInJson(text);
}

/** Formats JSON over several lines, for people. */
export function prettyJson(value: unknown): string {
  return JSON.stringify(value, null, 2).split("\n").map(escapedInJson).join("\n");
}

// The library's messages name its own option.
const WAIT_OPTION = '`wait: { beyondLease: "5s" }`';

/** Reports an error on a single line and without a stack. Returns the exit status. */
export function tellFailure(output: Output, error: unknown): number {
  // As other commands in a pipe: without a word.
  if (error instanceof ReaderGone) return error.exitCode;
  const { code, message, exitCode } = failureOf(error);
  const line = visible(onOneLine(message)).replace(WAIT_OPTION, "`--wait lease+5s`");
  const holder = isHoldfastError(error) ? error.holder : undefined;
  output.err(
    output.isJson ? jsonLine({ error: { code, message: line, holder } }) : `holdfast: ${line}`,
  );
  return exitCode;
}

/** Whether a later request may succeed, without an operator. */
export function isPassing(error: unknown): boolean {
  return isHoldfastError(error, "unreachable") || isHoldfastError(error, "throttled");
}

/**
 * Returns what a watch polls with. Of the errors of an outage it reports the first, and returns undefined for each; every
 * other error it throws. Returns undefined at once when the signal aborts: a poll may wait for a silent table.
 */
export function outlasting(output: Output, ending: AbortSignal) {
  let isTold = false;
  return async <T>(poll: () => Promise<T>): Promise<T | undefined> => {
    try {
      const found = await unlessAborted(ending, poll());
      isTold = false;
      return found;
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (!isTold) tellFailure(output, error);
      isTold = true;
      return undefined;
    }
  };
}

// Not `Promise.race()` with a promise of the signal's, which would keep every poll of a watch in memory.
function unlessAborted<T>(signal: AbortSignal, result: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const end = (): void => resolve(undefined);
    signal.addEventListener("abort", end);
    result.then(resolve, reject).finally(() => signal.removeEventListener("abort", end));
  });
}

function onOneLine(message: string): string {
  const lines = message.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "").join(" ");
}

// Longer than the longest name and owner of this library.
const LONGEST_LINE = 4_000;

/** Makes text from a table safe to print: cuts long text and escapes control characters. */
export function printable(text: string): string {
  return shown(text, LONGEST_LINE);
}

// As wide as a terminal: an owner of 400 KB would pad the same cell of every other row.
const WIDEST_CELL = 80;

/** Text for a cell of a table, cut to the width of a terminal; `--json` has the whole text. */
export function cell(text: string): string {
  return shown(text, WIDEST_CELL);
}

const GAP = "  ";
// Narrower columns are hard to read.
const NARROWEST = 8;

/**
 * Formats rows under a heading, each column as wide as the widest cell, within `width` characters if possible: cells
 * that are too long go on in a further line.
 */
export function columns(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
): string {
  const lines = [heading, ...rows].map((row) => row.map(cell));
  const widest = heading.map((_, at) =>
    lines.reduce((most, line) => Math.max(most, line[at]?.length ?? 0), 0),
  );
  const most = mostWithin(widest, width - GAP.length * (heading.length - 1));
  const widths = widest.map((each) => Math.min(each, most));
  return lines
    .flatMap((line) => wrapped(line, most))
    .map((line) => line.map((text, at) => text.padEnd(widths[at] ?? 0)).join(GAP))
    .map((line) => line.trimEnd())
    .join("\n");
}

/** The lines of one row, whose cells have at most `most` characters each. Pure. */
function wrapped(row: readonly string[], most: number): string[][] {
  const cells = row.map((text) => piecesOf(text, most));
  const height = Math.max(...cells.map((pieces) => pieces.length));
  return Array.from({ length: height }, (_, at) => cells.map((pieces) => pieces[at] ?? ""));
}

function piecesOf(text: string, most: number): string[] {
  const pieces = [""];
  // Splits between whole characters, because half of a surrogate pair is not a valid character.
  for (const character of text) {
    const last = pieces.at(-1) ?? "";
    if (last.length + character.length > most) pieces.push(character);
    else pieces[pieces.length - 1] = last + character;
  }
  return pieces;
}

/** How wide a cell may be, so that all columns fit. Only the widest columns are wrapped. Pure. */
function mostWithin(widest: readonly number[], width: number): number {
  for (let most = WIDEST_CELL; most > NARROWEST; most -= 1) {
    if (widest.reduce((sum, each) => sum + Math.min(each, most), 0) <= width) return most;
  }
  return NARROWEST;
}

/** How long ago a moment was, for people, by two clocks that may differ. Pure. */
export function age(iso: string | undefined, nowMs: number): string {
  const atMs = epochMsOf(iso);
  if (atMs === undefined) return "";
  const ms = nowMs - atMs;
  const unit = AGE_UNITS.find(({ unitMs }) => ms >= 2 * unitMs);
  return unit === undefined
    ? `${Math.max(0, Math.floor(ms / 1_000))} s`
    : `${Math.floor(ms / unit.unitMs)} ${unit.name}`;
}

const AGE_UNITS = [
  { name: "d", unitMs: 86_400_000 },
  { name: "h", unitMs: 3_600_000 },
  { name: "min", unitMs: 60_000 },
] as const;

/** A length of time for people. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 0)} s`;
}
