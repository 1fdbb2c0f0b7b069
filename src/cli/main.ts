#!/usr/bin/env node
/** The command `holdfast`: parses, runs, and exits. See docs/cli.md. */
import type { Command } from "commander";
import { CliError, EXIT, usageError } from "./output/exit-codes.js";
import { standardOutput, tellFailure } from "./output/output.js";

const words = process.argv.slice(2);
const ownWords = words.includes("--") ? words.slice(0, words.indexOf("--")) : words;
const output = standardOutput(ownWords.includes("--json"), ownWords.includes("--quiet"));

// Notices of dependencies, such as the SDK's about Node versions, are for developers of programs. Writing notices would
// also make the command's stderr non-blocking (see output.ts).
process.removeAllListeners("warning");
process.on("warning", () => undefined);

// Output in a callback: of a listener, or of a child's message.
process.on("uncaughtException", (error) => {
  if (!(error instanceof CliError)) throw error;
  process.exit(tellFailure(output, error));
});

process.exit(await main().catch((error: unknown) => tellFailure(output, explained(error))));

async function main(): Promise<number> {
  const { programOf } = await import("./program.js");
  let run: ((to: typeof output) => Promise<number>) | undefined;
  const program = programOf(words, (asked) => {
    run = asked;
  });
  try {
    program.parse(words, { from: "user" });
  } catch (error) {
    return parsingEnded(error, pathIn(program));
  }
  return run === undefined ? EXIT.usage : run(output);
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
function pathIn(program: Command): string[] {
  const path: string[] = [];
  for (let at: Command | undefined = program, word = 0; at !== undefined; word += 1) {
    at = at.commands.find((command) => command.name() === words[word]);
    if (at !== undefined) path.push(at.name());
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
