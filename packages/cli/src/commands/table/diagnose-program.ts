import type { Command } from "commander";
import { tableCommand } from "../../options.js";
import { EXIT_CODES_HELP } from "../../output/exit-codes.js";
import type { OnRun } from "../../output/output.js";

/** Adds `holdfast diagnose` to the command line's grammar. */
export function addDiagnose(program: Command, onRun: OnRun): void {
  tableCommand(program, "diagnose", "Finds problems of the table, the credentials and the clocks.")
    .option(
      "--for <features>",
      "the features that this process uses, as for `table policy`; default lock",
    )
    .option("--prefix <prefix>", "the prefix of the probed names")
    .option("--home-region <region>", "the single region in which all clients acquire locks")
    .option("--scan", "also find dead holders, dead waiters and unreadable records, by four scans")
    .option("--watch <duration>", "how long to watch holders with --scan; default 65s")
    .option(
      "--ring <addresses>",
      "also whether this machine reaches the clients with rings at HOST:PORT,HOST:PORT",
    )
    .option("--engine", "instead check whether the server is fit to keep locks; writes records")
    .addHelpText("after", DIAGNOSE_HELP)
    .action((options) =>
      onRun(async (output, host) => {
        const commands = await import("../index.js");
        if (options.engine === true) return commands.diagnoseEngine(options, output, host);
        return commands.diagnose(options, output, host);
      }),
    );
}

const DIAGNOSE_HELP = `
Without --engine, writes nothing: permissions are probed by reads, and by writes with false conditions, each charged as
a write. Each finding is a line, or a JSON object, with a fix. Warnings leave the exit status at 0. For
several problems the exit status is the first of 69, 78 and 77 that applies.

--scan lists the table, waits for the longest lease in the listing, and lists the table again: a holder
or waiter without a renewal in between is dead. For locks on sessions see \`holdfast sessions\`.

--engine races 64 claims and 64 takeovers of one record, and checks refusals, conditions, numbers, reads,
transactions, TTL and the Date of answers, with about 1,300 requests. It writes only below a random name,
and deletes what it wrote. The last line is the verdict for the features of --for (default: all of them).
With --max-clock-error never, an engine needs no Date.
${EXIT_CODES_HELP}
  1    with --engine: the engine is not fit to keep locks`;
