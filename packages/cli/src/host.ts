import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeSync } from "node:fs";
import { isatty } from "node:tty";
import { fileURLToPath } from "node:url";
import { onReaderGone } from "./output/reader.js";

/** The process around a run of the command line. The tests pass streams in memory instead. */
export interface Host {
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  /** Whether Node.js has replaced bytes of the arguments, because they are not UTF-8. */
  readonly hasChangedArguments: () => boolean;
  /** The names of the environment variables whose bytes Node.js has replaced. */
  readonly changedVariables: () => readonly string[];
  /** Reads stdin to its end. */
  readonly stdin: () => Uint8Array;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Calls back once when the reader of stdout has gone. Returns a function that ends the observation. */
  readonly onReaderGone: (callback: () => void) => () => void;
  /** Emits the signals to the process. A listener replaces the default, which ends the process. */
  readonly signals: Pick<NodeJS.EventEmitter, "on" | "off">;
  /** Starts the guard program. The guard and its command share the streams of this process. */
  readonly startGuard: (env: NodeJS.ProcessEnv) => ChildProcess;
}

/** A stream of text, written synchronously. */
interface OutputStream {
  /** The width of the terminal; infinite for a file or a pipe, whose reader may search the whole text. */
  readonly width: number;
  /** Writes all of the text. Returns the code of a failure, or undefined after success. */
  write(text: string): string | undefined;
}

const STDOUT = 1;
const STDERR = 2;
const NARROWEST_TERMINAL = 80;

/** Returns this process as a host. */
export function processHost(): Host {
  return {
    env: process.env,
    platform: process.platform,
    hasChangedArguments,
    changedVariables,
    stdin: () => readFileSync(0),
    stdout: streamOf(STDOUT),
    stderr: streamOf(STDERR),
    onReaderGone,
    signals: process,
    startGuard: (env) =>
      spawn(process.execPath, [GUARD_FILE], {
        // `detached`: a separate session, out of reach of the terminal's signals.
        detached: true,
        stdio: ["inherit", "inherit", "inherit", "ipc"],
        env,
      }),
  };
}

const GUARD_FILE = fileURLToPath(new URL("./guard/guard.js", import.meta.url));

/**
 * A stream of this process, written synchronously. Not `process.stdout`: Node makes a pipe non-blocking, also for a
 * child that shares the pipe, and the child then loses output to EAGAIN.
 */
function streamOf(descriptor: number): OutputStream {
  return {
    get width() {
      if (!isatty(descriptor)) return Number.POSITIVE_INFINITY;
      return process.stdout.columns ?? NARROWEST_TERMINAL;
    },
    write: (text) => writeAll(descriptor, text),
  };
}

const RETRY_MS = 5;

function writeAll(descriptor: number, text: string): string | undefined {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "EAGAIN") return code ?? "unknown";
      // Another process made the stream non-blocking, and the stream is full.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
  return undefined;
}

function hasChangedArguments(): boolean {
  return process.argv.some((word) => word.includes("\ufffd")) && !isUtf8(raw("cmdline"));
}

function changedVariables(): readonly string[] {
  if (!Object.values(process.env).some((value) => value?.includes("\ufffd"))) return [];
  // One character a byte, to split the bytes.
  const all = raw("environ").toString("latin1").split("\0");
  return all
    .map((variable) => Buffer.from(variable, "latin1"))
    .filter((variable) => !isUtf8(variable))
    .map((variable) => variable.toString().replace(/=.*/s, ""));
}

function raw(what: "cmdline" | "environ"): Buffer {
  try {
    return readFileSync(`/proc/self/${what}`);
  } catch {
    // Without /proc the bytes are unknown: the caller may mean a replacement character.
    return Buffer.alloc(0);
  }
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
