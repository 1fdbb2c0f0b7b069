import { type Command, Option } from "commander";
import type { OnRun } from "../output/output.js";

/** Adds `holdfast dev` to the command line's grammar. */
export function addDev(program: Command, onRun: OnRun): void {
  program
    .command("dev")
    .description("Serves a table in memory, for development, and its page, until interrupted.")
    // As in the demo no environment variables: they may name a table in production.
    .addOption(new Option("--table <name>", "the table; created if missing").default("locks"))
    .option("--port <number>", "the port of 127.0.0.1; default 8000, or else any free port")
    .option("--data <directory>", "keep the tables in this directory; default: in memory alone")
    .option("--json", "print what was started as JSON")
    .option("--quiet", "print no notes")
    .addHelpText("after", DEV_HELP)
    .action((options) =>
      onRun(async (output, host) => (await import("../dev/dev.js")).dev(options, output, host)),
    );
}

const DEV_HELP = `
Needs no AWS account. Prints the variables with which programs of this machine find the table, and two
commands to try. Every program of this machine has full access. Not for production.

With --data each write is in a file before it is answered. One process at a time uses the directory: a
second one takes it over, and the first ends at its next write.

Exit status:
  64   wrong usage
  69   the port cannot be used
  74   the data cannot be read or written, or another process has taken over the directory
  78   the table has different keys or settings
and 128+n when interrupted by signal n, the usual end of a server.`;
