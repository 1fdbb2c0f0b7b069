import { accessSync, constants, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { CliError, EXIT, usageError } from "../output/exit-codes.js";
import type { CommandLine } from "./guarded-command.js";

/** The options for the guard, as parsed by commander. */
export interface GuardOptions {
  readonly dieWithGuard?: boolean;
  readonly ignoreHup?: boolean;
}

/** Returns the program and its arguments. Throws a usage error, or the error of an unsupported system. */
export function commandLineOf(
  command: readonly string[],
  { dieWithGuard }: GuardOptions,
  platform: NodeJS.Platform = process.platform,
): Omit<CommandLine, "env"> {
  const [program, ...args] = command;
  if (program === undefined || program === "") throw usageError("The command is missing.");
  // Without process groups a lost lock could not end the command.
  if (platform === "win32") {
    throw new CliError(
      "unsupported-system",
      EXIT.misconfigured,
      "`holdfast lock`, `holdfast semaphore` and `holdfast elect` need process groups, which Windows lacks. Use WSL or a container, or the library.",
    );
  }
  refuseChangedBytes(process.argv);
  if (dieWithGuard !== true) return { command: program, args };
  return { command: setprivOn(platform), args: ["--pdeathsig", "KILL", "--", program, ...args] };
}

/**
 * Refuses arguments whose bytes are not UTF-8. Node.js replaces such bytes, so two names could become one lock, and the
 * command would open another file.
 */
function refuseChangedBytes(words: readonly string[]): void {
  if (!words.some((word) => word.includes("\ufffd"))) return;
  if (isUtf8(rawArguments())) return;
  throw usageError(
    "An argument has bytes that are not UTF-8, and Node.js has replaced them. Pass such a name in a file, or by a script.",
  );
}

function rawArguments(): Buffer {
  try {
    return readFileSync("/proc/self/cmdline");
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

function setprivOn(platform: NodeJS.Platform): string {
  const folders = platform === "linux" ? (process.env["PATH"] ?? "").split(delimiter) : [];
  const found = folders.map((folder) => join(folder, "setpriv")).find(isExecutable);
  if (found !== undefined) return found;
  throw usageError(
    "--die-with-guard needs the program `setpriv` (Linux, package util-linux) in PATH. Install it, or leave the option out.",
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
