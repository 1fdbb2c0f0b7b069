import type { Command } from "commander";
import { operandsOfOne } from "../../operands.js";
import {
  guardedCommand,
  maxHoldOption,
  ownerOption,
  ringOption,
  sortOption,
  tableCommand,
} from "../../options.js";
import { ELECT_EXIT_CODES_HELP, EXIT_CODES_HELP } from "../../output/exit-codes.js";
import type { OnRun } from "../../output/output.js";

/** Adds the commands for elections to the command line's grammar. */
export function addElections(program: Command, words: readonly string[], onRun: OnRun): void {
  addElect(program, words, onRun);
  tableCommand(program, "leader <name>", "Prints the leader, by a single read, or at each change.")
    .addOption(sortOption())
    .option("--watch", "print each change, until interrupted")
    .option("--poll <duration>", "how often to read while watching; default 5s")
    .addHelpText("after", `${EXIT_CODES_HELP}\nand 75 without a leader.`)
    .action((name: string, options) =>
      onRun(async (output, host) =>
        (await import("../index.js")).leader(name, options, output, host),
      ),
    );
  tableCommand(
    program,
    "resign <name>",
    "Asks the leader to resign, and waits for the resignation.",
  )
    .addOption(sortOption())
    .option("--wait <duration>", "how long to wait; default the leader's lease")
    .addHelpText(
      "after",
      "\nThe leader reads the request at its next renewal. The request remains after the wait, also if a signal\nends it." +
        `\n${EXIT_CODES_HELP}\nand 75 if the leader has not resigned in time.`,
    )
    .action((name: string, options) =>
      onRun(async (output, host) =>
        (await import("../index.js")).resign(name, options, output, host),
      ),
    );
}

/** Adds `holdfast cost`, which sends no request. */
export function addCost(program: Command, onRun: OnRun): void {
  program
    .command("cost")
    .description("Prints the cost of an election a day and a month; needs no table.")
    .option("--instances <number>", "the number of processes, including the leader; default 2")
    .option(
      "--failover <duration>",
      "the failover time, from which the next three are derived; default 60s",
    )
    .option("--lease <duration>", "as with elect")
    .option("--renew <duration>", "as with elect")
    .option("--standby-poll <duration>", "the --poll of elect")
    .option(
      "--write-price <money>",
      "the price of a million write units; default us-east-1 on demand",
    )
    .option(
      "--read-price <money>",
      "the price of a million read units; default us-east-1 on demand",
    )
    .option("--json", "print JSON")
    .action((options) =>
      onRun(async (output) => (await import("../index.js")).cost(options, output)),
    );
}

function addElect(program: Command, words: readonly string[], onRun: OnRun): void {
  guardedCommand(
    program,
    "elect",
    "<name>",
    "Runs a command while this process leads, and campaigns again afterwards.",
  )
    .addOption(sortOption())
    .option("--lease <duration>", "how long a leader may go without renewing; default 52s")
    .option("--renew <duration>", "how often the leader renews; default 10s")
    .option("--poll <duration>", "how often a standby reads; default 5s")
    .addOption(maxHoldOption())
    .option(
      "--failover <duration>",
      "the failover time, from which these three are derived; default 60s",
    )
    .option("--every <duration>", "run the command again at this interval while leading")
    .addOption(ringOption())
    .option("--preferred", "ask a leader that is not preferred to resign")
    .option("--once", "end after a single term")
    .addOption(ownerOption("candidate"))
    .addHelpText("after", ELECT_HELP)
    .action((operands: string[], options) => {
      const { name, command } = operandsOfOne("elect", words, operands);
      onRun(async (output, host) =>
        (await import("../index.js")).elect(name, command, options, output, host),
      );
    });
}

const ELECT_HELP = `
The command runs as with \`holdfast lock\`, with the same environment and the same guard. Without
--every the term ends with the command, and another process may lead; with --every the command runs
again at each interval. INT, TERM, HUP and QUIT are passed on, and end holdfast when the command has
ended. A leader that is asked to resign ends its command with TERM, and after half a lease with KILL.
With --json each transition is an object on stderr.
${ELECT_EXIT_CODES_HELP}

Example:
  holdfast elect pool --table locks --every 30s -- ./converge-pool.sh`;
