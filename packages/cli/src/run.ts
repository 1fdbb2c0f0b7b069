import type { Command } from "commander";
import { isHoldfastError } from "holdfast/internal";
import type { Host } from "./host.js";
import { CliError, EXIT, usageError } from "./output/exit-codes.js";
import { type Output, outputOn, type Run, tellFailure } from "./output/output.js";
import { inOwnOptions } from "./output/own-options.js";

/** Runs a command line: parses it, runs the command, and reports a failure. Returns the exit status. */
export async function run(words: readonly string[], host: Host): Promise<number> {
  const output = outputFor(words, host);
  try {
    const asked = await parse(words, host);
    return typeof asked === "number" ? asked : await asked(output, host);
  } catch (error) {
    return tellFailure(output, await inWordsOf(words, explained(error)));
  }
}

/** Returns the error of a wrong argument with the options of the command, and every other error as it is. */
async function inWordsOf(words: readonly string[], error: unknown): Promise<unknown> {
  if (!isHoldfastError(error, "invalid-argument")) return error;
  const { programOf } = await import("./program.js");
  const path = commandsIn(
    programOf(words, () => undefined),
    words,
  );
  const own = new Set(path.flatMap(({ options }) => options.map(({ long }) => long ?? "")));
  return new CliError(error.code, EXIT.usage, inOwnOptions(error.message, own));
}

/** Returns the output of a command line. Reads the words itself, so that errors of the parser follow the options. */
export function outputFor(words: readonly string[], host: Host): Output {
  const own = words.includes("--") ? words.slice(0, words.indexOf("--")) : words;
  return outputOn(host, own.includes("--json"), own.includes("--quiet"));
}

/** Parses a command line. Returns the run of its command, or the exit status if there is nothing to run. */
async function parse(words: readonly string[], host: Host): Promise<Run | number> {
  const { programOf } = await import("./program.js");
  let asked: Run | undefined;
  const onRun = (run: Run): void => {
    asked = run;
  };
  const program = programOf(words, onRun, (text) => outputOn(host, false).out(text));
  const { env } = process;
  try {
    // Commander reads the variables of options from `process.env`, and parses synchronously.
    process.env = host.env;
    program.parse(words, { from: "user" });
  } catch (error) {
    return parsingEnded(error, pathIn(program, words));
  } finally {
    process.env = env;
  }
  return asked ?? EXIT.usage;
}

/** Help and the version are no failures; every further error of commander is wrong usage. */
function parsingEnded(error: unknown, path: readonly string[]): number {
  const { code, exitCode, message } = error as {
    code?: string;
    exitCode?: number;
    message: string;
  };
  if (exitCode === 0) return EXIT.ok;
  if (typeof code !== "string" || !code.startsWith("commander.")) throw error;
  if (code === "commander.help") {
    const help = ["holdfast", ...path, "--help"].join(" ");
    throw usageError(`The command is missing. See \`${help}\`.`);
  }
  const said = message
    .replace(/^error: /, "")
    .trim()
    .replace(/\.$/, "");
  throw usageError(`${said}. See \`${["holdfast", ...path].join(" ")} --help\`.`);
}

/** The words of the command itself, as far as the program knows them: its help has the details. */
function pathIn(program: Command, words: readonly string[]): string[] {
  return commandsIn(program, words).map((command) => command.name());
}

/** The commands that the words name, each below the one before. */
function commandsIn(program: Command, words: readonly string[]): Command[] {
  const path: Command[] = [];
  for (let at: Command | undefined = program, word = 0; at !== undefined; word += 1) {
    at = at.commands.find((command) => command.name() === words[word]);
    if (at !== undefined) path.push(at);
  }
  return path;
}

/** Explains a missing peer, the most common installation fault. */
function explained(error: unknown): unknown {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (code !== "ERR_MODULE_NOT_FOUND" || !String(message).includes("@aws-sdk/")) return error;
  return new CliError(
    "sdk-missing",
    EXIT.internal,
    `The AWS SDK is not installed: npm install ${/@aws-sdk\/client-[\w-]+/.exec(String(message))?.[0] ?? "@aws-sdk/client-dynamodb"}`,
  );
}
