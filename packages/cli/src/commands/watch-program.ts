import type { Command } from "commander";
import { kindOption, namespaceOption, sortOption, tableCommand } from "../options.js";
import { EXIT_CODES_HELP, usageError } from "../output/exit-codes.js";
import type { OnRun } from "../output/output.js";

/** Adds `holdfast watch` to the command line's grammar. */
export function addWatch(program: Command, onRun: OnRun): void {
  tableCommand(
    program,
    "watch [name]",
    "Prints each change of a lock, or of all locks with a prefix, until interrupted.",
  )
    .addOption(sortOption())
    .addOption(namespaceOption())
    .option("--prefix <prefix>", "all names with this prefix, by scans; empty for all")
    .option("--poll <duration>", "how often to poll; default 1s, with --prefix 30s")
    .addOption(kindOption())
    .addHelpText("after", WATCH_HELP)
    .action((name: string | undefined, options) => {
      if ((name === undefined) === (options.prefix === undefined)) {
        throw usageError(
          "Give either a name or a prefix: holdfast watch NAME, or holdfast watch --prefix PREFIX",
        );
      }
      if (name === undefined && (options.namespace ?? options.sort) !== undefined) {
        throw usageError(
          "--namespace and --sort are for a single lock: give its name. --prefix watches all of them.",
        );
      }
      onRun(async (output, host) =>
        (await import("./index.js")).watch(name, options, output, host),
      );
    });
}

const WATCH_HELP = `
Prints a line for each change: first the present state (seen), then granted, changed (data, lease or
session of the same holder), asked (another client tells the holder to stop, or that it waits), silent (no
renewal for a whole lease: free to take over), released and gone. Changes between two polls appear as a single change; grants in between are counted (missed).

A name is polled by strongly consistent reads: one read unit a second by default, and another unit
for a lock on a session. With --prefix each poll is an eventually consistent scan of the whole table,
which may lag by a second or so; the cost is printed on stderr.
In a --format without fences no grants are counted, and grants differ by holder alone. In a format
whose release deletes the record, a release appears as gone.
While DynamoDB does not answer, the watch prints errors on stderr, and continues.
${EXIT_CODES_HELP}
and 128+n when interrupted by signal n, the usual end of a watch.`;
