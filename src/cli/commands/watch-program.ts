import type { Command } from "commander";
import { kindOption, namespaceOption, sortOption, withCommonOptions } from "../options.js";
import { EXIT_CODES_HELP, usageError } from "../output/exit-codes.js";
import type { Run } from "../output/output.js";

/** The command that tells of changes, added to the command line's grammar. */
export function addWatch(program: Command, onRun: (run: Run) => void): void {
  withCommonOptions(
    program
      .command("watch [name]")
      .description("Tells each change of one lock, or of all below a prefix, until interrupted."),
  )
    .addOption(sortOption())
    .addOption(namespaceOption())
    .option("--prefix <prefix>", "all names that begin with this, by scans; empty for all")
    .option("--poll <duration>", "how often to look; default 1s, with --prefix 30s")
    .addOption(kindOption())
    .addHelpText("after", WATCH_HELP)
    .action((name: string | undefined, options) => {
      if ((name === undefined) === (options.prefix === undefined)) {
        throw usageError("Say which: holdfast watch NAME, or holdfast watch --prefix PREFIX");
      }
      if (name === undefined && options.namespace !== undefined) {
        throw usageError(
          "--namespace is for one lock: give its name. --prefix watches all of them.",
        );
      }
      onRun(async (output) => (await import("./index.js")).watch(name, options, output));
    });
}

const WATCH_HELP = `
One line a change: first what is there (seen), then granted, changed (data, lease or session of the
same holder), silent (not renewed for as long as its lease, so that it can be taken), released and
gone. What happened between two looks is one change; grants that were not seen are counted (missed).

A name is looked at by a strongly consistent read: one read unit a second at the default, and one
more where it lives by a session. With --prefix each look is an eventually consistent scan of the
whole table, which may lag by a second or so; what it costs is told on stderr.
Where grants are not numbered (--format), none are counted, and a grant is told from another by its
holder alone; where a release deletes the record it is told as gone.
While nobody answers that is told on stderr, and the watch goes on.
${EXIT_CODES_HELP}
and 128+n when interrupted by signal n, as a watch ends.`;
