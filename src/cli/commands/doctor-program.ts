import type { Command } from "commander";
import { withCommonOptions } from "../options.js";
import { EXIT_CODES_HELP } from "../output/exit-codes.js";
import type { Run } from "../output/output.js";

/** The command that looks for what is wrong, added to the command line's grammar. */
export function addDoctor(program: Command, onRun: (run: Run) => void): void {
  withCommonOptions(
    program
      .command("doctor")
      .description(
        "Looks for what is wrong with the table, and with these credentials and clocks.",
      ),
  )
    .option("--for <features>", "what this process does, as for `table policy`; default lock")
    .option("--prefix <prefix>", "what the probed names begin with")
    .option("--home-region <region>", "the one region in which all clients take their locks")
    .option(
      "--scan",
      "also look for dead holders, dead queues and unreadable records, by four scans",
    )
    .option("--watch <duration>", "for how long to watch holders with --scan; default 65s")
    .addHelpText("after", DOCTOR_HELP)
    .action((options) =>
      onRun(async (output) => (await import("./index.js")).doctor(options, output)),
    );
}

const DOCTOR_HELP = `
Writes nothing: permissions are probed by writes whose conditions cannot hold, each charged as a write,
and by reads. Every finding is one line, or one JSON object, with what to do about it. Warnings leave
the exit status at 0; of several problems 69 comes before 78, and 78 before 77.

--scan lists the table, waits until the longest lease that it saw would be over, and lists it again:
whoever has not renewed meanwhile is dead, in a queue too. What lives by sessions: see \`holdfast sessions\`.
${EXIT_CODES_HELP}`;
