import type { Command } from "commander";
import { operandsOf } from "../operands.js";
import { sortOption, withCommonOptions } from "../options.js";
import { ELECT_EXIT_CODES_HELP, EXIT_CODES_HELP, usageError } from "../output/exit-codes.js";
import type { Run } from "../output/output.js";

/** The commands about elections, added to the command line's grammar. */
export function addElections(
  program: Command,
  words: readonly string[],
  onRun: (run: Run) => void,
): void {
  addElect(program, words, onRun);
  withCommonOptions(
    program
      .command("leader <name>")
      .description("Tells who leads, by one read, or at each change."),
  )
    .addOption(sortOption())
    .option("--watch", "tell it at each change, until interrupted")
    .option("--poll <duration>", "how often to read while watching; default 5s")
    .addHelpText("after", `${EXIT_CODES_HELP}\nand 75 where nobody leads.`)
    .action((name: string, options) =>
      onRun(async (output) => (await import("./index.js")).leader(name, options, output)),
    );
  withCommonOptions(
    program.command("resign <name>").description("Asks whoever leads to resign, and waits for it."),
  )
    .addOption(sortOption())
    .option("--wait <duration>", "for how long to wait; default as long as the leader's lease")
    .addHelpText(
      "after",
      "\nThe leader finds the request at its next renewal. It stays asked after the wait." +
        `\n${EXIT_CODES_HELP}\nand 75 where it has not resigned in time.`,
    )
    .action((name: string, options) =>
      onRun(async (output) => (await import("./index.js")).resign(name, options, output)),
    );
}

/** The command that asks nobody what an election costs. */
export function addCost(program: Command, onRun: (run: Run) => void): void {
  program
    .command("cost")
    .description("Tells what an election costs a day and a month; needs no table.")
    .option("--instances <number>", "how many processes take part; default 2")
    .option("--failover <duration>", "derives the next three; default 60s")
    .option("--lease <duration>", "as with elect")
    .option("--renew <duration>", "as with elect")
    .option("--standby-poll <duration>", "the --poll of elect")
    .option("--write-price <money>", "of a million write units; default us-east-1 on demand")
    .option("--read-price <money>", "of a million read units; default us-east-1 on demand")
    .option("--json", "answer in JSON")
    .action((options) =>
      onRun(async (output) => (await import("./index.js")).cost(options, output)),
    );
}

function addElect(program: Command, words: readonly string[], onRun: (run: Run) => void): void {
  withCommonOptions(
    program
      .command("elect")
      .usage("<name> [options] -- <command> [argument...]")
      .argument("[operands...]")
      .description("Runs a command while this process leads, and campaigns again afterwards."),
  )
    .addOption(sortOption())
    .option("--lease <duration>", "for how long a leader may be silent; default 52s")
    .option("--renew <duration>", "how often the leader renews; default 10s")
    .option("--poll <duration>", "how often a standby reads; default 5s")
    .option("--failover <duration>", "derives these three; default 60s")
    .option("--every <duration>", "run the command again at this interval while leading")
    .option("--preferred", "ask a leader that is not preferred to hand over")
    .option("--once", "end after one term")
    .option("--owner <text>", "who this is, for people; default host name and process id")
    .addHelpText("after", ELECT_HELP)
    .action((operands: string[], options) => {
      const { names, command } = operandsOf("elect", words, operands);
      const [name = "", ...others] = names;
      if (others.length > 0) {
        throw usageError(
          `An election has one name; these are ${names.length} before the two dashes.`,
        );
      }
      onRun(async (output) => (await import("./index.js")).elect(name, command, options, output));
    });
}

const ELECT_HELP = `
The command runs as under \`holdfast lock\`, with the same environment and the same guard. Without
--every the term ends with the command, and another process may lead; with it, the command is run
again at each interval. INT, TERM, HUP and QUIT are passed on, and end holdfast when the command has
ended. A leader that is asked to resign ends its command with TERM, and after half a lease with KILL.
With --json each transition is one object on stderr.
${ELECT_EXIT_CODES_HELP}

Example:
  holdfast elect pool --table locks --every 30s -- ./converge-pool.sh`;
