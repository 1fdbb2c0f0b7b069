import type { Command } from "commander";
import { operandsOfOne } from "../operands.js";
import {
  guardedCommand,
  leaseOption,
  maxHoldOption,
  ownerOption,
  renewOption,
  waitOption,
} from "../options.js";
import { LOCK_EXIT_CODES_HELP, usageError } from "../output/exit-codes.js";
import type { OnRun } from "../output/output.js";
import type { SemaphoreOptions } from "./semaphore.js";

const OF_COMMANDS = [
  "permits",
  "weight",
  "refuseLimit",
  "wait",
  "lease",
  "renew",
  "maxHold",
  "owner",
] as const;

/** Adds `holdfast semaphore` to the command line's grammar. */
export function addSemaphore(program: Command, words: readonly string[], onRun: OnRun): void {
  guardedCommand(
    program,
    "semaphore",
    "<name> --permits <number>",
    "Runs a command while holding a permit. Several commands can hold permits at once.",
  )
    .option("--permits <number>", "the limit: the largest total weight of the held permits")
    .option("--weight <number>", "how much of the limit the permit takes; default 1")
    .option("--refuse-limit", "fail with exit status 78 if the table has another limit")
    .addOption(waitOption())
    .addOption(leaseOption("how long a dead holder keeps its permit"))
    .addOption(renewOption())
    .addOption(maxHoldOption())
    .addOption(ownerOption())
    .option("--set-limit <number>", "run no command, and change the limit in the table")
    .addHelpText("after", SEMAPHORE_HELP)
    .action((operands: string[], options: SemaphoreOptions) => {
      if (options.setLimit !== undefined) {
        const name = nameOfChange(operands, words, options);
        onRun(async (output) => (await import("./index.js")).setLimit(name, options, output));
        return;
      }
      const { name, command: line } = operandsOfOne("semaphore", words, operands);
      onRun(async (output, host) =>
        (await import("./index.js")).semaphore(name, line, options, output, host),
      );
    });
}

function nameOfChange(
  operands: readonly string[],
  words: readonly string[],
  options: SemaphoreOptions,
): string {
  const unfit = OF_COMMANDS.filter((option) => options[option] !== undefined);
  const [name = "", ...others] = operands;
  // A word after two dashes is a command to run, or a name with a leading dash.
  const isNamed = name !== "" && (name.startsWith("-") || !words.includes("--"));
  if (isNamed && others.length === 0 && unfit.length === 0) return name;
  throw usageError(
    "--set-limit takes one name, no command and no option of an acquisition, such as --wait. Run holdfast " +
      "semaphore NAME --set-limit N.",
  );
}

const SEMAPHORE_HELP = `
The command runs as with \`holdfast lock\`, with the same environment and the same guard. Waiters are
served in the order of arrival; a waiter with a small weight does not pass an earlier waiter with a
large weight. A semaphore limits how many commands run at the same time, and not how many begin in a
second.

The first command stores --permits in the table as the limit. From then on the limit in the table
counts: a command with other --permits says so, and goes by the table's. With --refuse-limit it does
not run, and ends with exit status 78, as does a --weight above the table's limit. --set-limit changes
the limit for all commands at their next step: holders keep their permits.
${LOCK_EXIT_CODES_HELP}

Example:
  holdfast semaphore stripe --permits 20 --table locks -- ./sync-invoices.sh
  holdfast semaphore stripe --permits 20 --weight 5 --table locks -- ./sync-everything.sh
  holdfast semaphore stripe --set-limit 30 --table locks`;
