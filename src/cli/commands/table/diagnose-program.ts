import type { Command } from "commander";
import { withCommonOptions } from "../../options.js";
import { EXIT_CODES_HELP } from "../../output/exit-codes.js";
import type { Run } from "../../output/output.js";

/** Adds `holdfast diagnose` to the command line's grammar. */
export function addDiagnose(program: Command, onRun: (run: Run) => void): void {
  withCommonOptions(
    program
      .command("diagnose")
      .description("Finds problems of the table, the credentials and the clocks."),
  )
    .option(
      "--for <features>",
      "the features that this process uses, as for `table policy`; default lock",
    )
    .option("--prefix <prefix>", "the prefix of the probed names")
    .option("--home-region <region>", "the single region in which all clients acquire locks")
    .option("--scan", "also find dead holders, dead waiters and unreadable records, by four scans")
    .option("--watch <duration>", "how long to watch holders with --scan; default 65s")
    .addHelpText("after", DIAGNOSE_HELP)
    .action((options) =>
      onRun(async (output) => (await import("../index.js")).diagnose(options, output)),
    );
}

const DIAGNOSE_HELP = `
Writes nothing: permissions are probed by reads, and by writes with false conditions, each charged as
a write. Each finding is a line, or a JSON object, with a fix. Warnings leave the exit status at 0. For
several problems the exit status is the first of 69, 78 and 77 that applies.

--scan lists the table, waits for the longest lease in the listing, and lists the table again: a holder
or waiter without a renewal in between is dead. For locks on sessions see \`holdfast sessions\`.
${EXIT_CODES_HELP}`;
