import { type Command, Option } from "commander";
import { operandsOfOne } from "../operands.js";
import { guardedCommand, ownerOption, tableCommand } from "../options.js";
import { EXIT_CODES_HELP, LOCK_EXIT_CODES_HELP } from "../output/exit-codes.js";
import type { OnRun } from "../output/output.js";

const AT_MOST_FOR = "how long the run of a dead process blocks the next one; default 60s";

const ONCE_HELP = `
The occurrence is text that sorts, such as 2026-11-21, or an instant. After an occurrence no earlier one runs.
Exits with 0 without a run, and with --json prints {"ran":false,"why":...}; else with the status of the command,
which the record remembers. Environment, guard and signals are those of \`holdfast lock\`.
${LOCK_EXIT_CODES_HELP}

Example:
  holdfast once nightly-report --occurrence "$(date -u +%F)" --table locks -- ./report.sh`;

const SCHEDULE_HELP = `
Start it on every machine: each instant runs on one of them. The environment of the command also has HOLDFAST_DUE,
HOLDFAST_ATTEMPT and HOLDFAST_LAST_SUCCESS. A status other than 0 is a failure, which is retried as --retries says.
A signal is passed on to the command, and ends the schedule after it. Guard and environment are those of
\`holdfast lock\`.
${EXIT_CODES_HELP}
and 128+n when ended by signal n, the usual end of a schedule.

Example:
  holdfast schedule nightly-report --cron "0 3 * * *" --time-zone Europe/Berlin --retries 3 --table locks -- ./report.sh`;

/** Adds the commands `once`, `schedule` and `runs`. */
export function addSchedules(program: Command, words: readonly string[], onRun: OnRun): void {
  addOnce(program, words, onRun);
  addSchedule(program, words, onRun);
  tableCommand(
    program,
    "runs <name>",
    "Shows the last runs of a schedule or of a task of `once`, by a single read.",
  )
    .addHelpText("after", EXIT_CODES_HELP)
    .action((name: string, options) =>
      onRun(async (output) => (await import("./schedule.js")).runs(name, options, output)),
    );
}

function addOnce(program: Command, words: readonly string[], onRun: OnRun): void {
  guardedCommand(
    program,
    "once",
    "<name>",
    "Runs a command for an occurrence of a task, unless it has been run anywhere.",
  )
    .option("--occurrence <text>", "the occurrence: later ones sort later")
    .option("--every <duration>", "the occurrence is the last multiple of this period")
    .option("--at-most-for <duration>", AT_MOST_FOR)
    .addOption(
      new Option(
        "--if-interrupted <how>",
        "rerun: wait for a run, and repeat an interrupted one",
      ).choices(["skip", "rerun"]),
    )
    .addOption(ownerOption())
    .addHelpText("after", ONCE_HELP)
    .action((operands: string[], options) => {
      const { name, command } = operandsOfOne("once", words, operands);
      onRun(async (output, host) =>
        (await import("./schedule.js")).once(name, command, options, output, host),
      );
    });
}

function addSchedule(program: Command, words: readonly string[], onRun: OnRun): void {
  guardedCommand(
    program,
    "schedule",
    "<name>",
    "Runs a command at instants, each on one of the machines that run this.",
  )
    .option("--cron <expression>", "a cron expression of five fields, or of six with seconds first")
    .option("--time-zone <zone>", "with --cron: the IANA time zone; default UTC")
    .option("--every <duration>", "the multiples of this period since 1970")
    .option("--offset <duration>", "with --every: how long after the multiples")
    .addOption(
      new Option("--catch-up <which>", "the missed instants that run later; default last").choices([
        "none",
        "last",
        "all",
      ]),
    )
    .option("--retries <number>", "how often a failed or interrupted run is repeated; default 0")
    .option(
      "--retry-after <duration>",
      "the pause before the first retry, which doubles; default 30s",
    )
    .addOption(
      new Option(
        "--overlap <how>",
        "what happens at an instant during a run; default skip",
      ).choices(["skip", "wait", "interrupt"]),
    )
    .option("--at-most-for <duration>", AT_MOST_FOR)
    .addOption(ownerOption())
    .addHelpText("after", SCHEDULE_HELP)
    .action((operands: string[], options) => {
      const { name, command } = operandsOfOne("schedule", words, operands);
      onRun(async (output, host) =>
        (await import("./schedule.js")).schedule(name, command, options, output, host),
      );
    });
}
