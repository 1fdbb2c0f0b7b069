import type { Command } from "commander";
import {
  formatOption,
  quietOption,
  regionOption,
  tableCommand,
  tableOption,
} from "../../options.js";
import { EXIT_CODES_HELP } from "../../output/exit-codes.js";
import { LOCK_FORMATS } from "../../output/format.js";
import type { OnRun } from "../../output/output.js";

/** Adds the commands for the table to the command line's grammar. */
export function addTable(program: Command, onRun: OnRun): void {
  const table = program
    .command("table")
    .description("Creates or checks a table for locks; prints IAM policies.");
  table.addHelpText("after", EXIT_CODES_HELP);
  tableCommand(
    table,
    "create",
    "Creates the table, with TTL and on-demand billing, unless a fitting table exists.",
    TABLE_FORMATS,
  )
    .option("--wait <duration>", "how long to wait until the table is active; default 60s")
    .option("--home-region <region>", "the single region in which all clients acquire locks")
    .addHelpText("after", EXIT_CODES_HELP)
    .action((options) =>
      onRun(async (output) => (await import("../index.js")).createTable(options, output)),
    );
  tableCommand(
    table,
    "check",
    "Checks the table's schema and settings; changes nothing.",
    TABLE_FORMATS,
  )
    .option("--home-region <region>", "the single region in which all clients acquire locks")
    .addHelpText("after", EXIT_CODES_HELP)
    .action((options) =>
      onRun(async (output) => (await import("../index.js")).checkTable(options, output)),
    );
  addPolicy(table, onRun);
}

function addPolicy(table: Command, onRun: OnRun): void {
  table
    .command("policy")
    .description("Prints the least-privilege policy of a process, without requests.")
    .requiredOption("--for <features>", "the features, separated by commas: see below")
    .addOption(tableOption())
    .addOption(regionOption())
    .addOption(formatOption())
    .option("--account <id>", "the account of the table; default: any")
    .option("--partition <name>", "aws, aws-cn or aws-us-gov; default aws")
    .option("--prefix <prefix...>", "only names with these prefixes")
    .option("--bucket <name>", "with object-commit: the bucket of the objects")
    .option("--json", "on one line")
    .addOption(quietOption())
    .addHelpText("after", POLICY_HELP)
    .action((options) =>
      onRun(async (output) => (await import("../index.js")).policy(options, output)),
    );
}

const POLICY_HELP = `
--for takes:
  lock           hold, wait for and release locks
  fair-lock      as lock, and fair locks and multi-locks
  sessions       as lock, if any client of the table uses sessions
  permits        semaphores and read-write locks
  elect          campaign, lead, observe and resign
  once           run occurrences and schedules; with elect: leader tasks with \`remember\`
  condition      put lease.condition(), or conditions(), into transactions
  observe        inspect, ls, leader, watch, sessions; changes nothing
  operate        observe; free locks, ask leaders to resign, check the table
  table          create the table
  object-commit  commit objects, with a table of commit records
With a --format of other clients: lock, elect, condition, observe, operate, table.
Permissions that cannot be narrowed to a prefix are listed on stderr.
${EXIT_CODES_HELP}

Example:
  holdfast table policy --for lock,elect --table locks --prefix billing/`;

/** The formats of a table: of locks, or of commit records. */
const TABLE_FORMATS = [...LOCK_FORMATS, "object-commit"];
