import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Host } from "../host.js";
import { CliError, EXIT, usageError } from "../output/exit-codes.js";
import type { Output } from "../output/output.js";
import type { CommandLine } from "./guarded-command.js";

/** The options for the guard, as parsed by commander. */
export interface GuardOptions {
  readonly dieWithGuard?: boolean;
  readonly ignoreHup?: boolean;
}

/** The part of the host that decides whether a command can run. */
type CommandHost = Pick<Host, "changedVariables" | "env" | "hasChangedArguments" | "platform">;

/**
 * Returns the program and its arguments, and notes what reaches them changed. Throws a usage error, or the error of an
 * unsupported system.
 */
export function commandLineOf(
  command: readonly string[],
  { dieWithGuard }: GuardOptions,
  { changedVariables, env, hasChangedArguments, platform }: CommandHost,
  output: Pick<Output, "note">,
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
  // Two names could become one lock, and the command would open another file.
  if (hasChangedArguments()) {
    throw usageError(
      "An argument has bytes that are not UTF-8, and Node.js has replaced them. Pass such a name in a file, or by a script.",
    );
  }
  const changed = changedVariables();
  if (changed.length > 0) {
    output.note(
      `These variables have bytes that are not UTF-8, and reach the command changed: ${changed.join(", ")}.`,
    );
  }
  if (dieWithGuard !== true) return { command: program, args };
  return {
    command: setprivOn(platform, env["PATH"]),
    args: ["--pdeathsig", "KILL", "--", program, ...args],
  };
}

function setprivOn(platform: NodeJS.Platform, path = ""): string {
  const folders = platform === "linux" ? path.split(delimiter) : [];
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
