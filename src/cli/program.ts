import { readFileSync } from "node:fs";
import { Command, Option } from "commander";
import { addDoctor } from "./commands/doctor-program.js";
import { addCost, addElections } from "./commands/election-commands.js";
import { addObject } from "./commands/object-program.js";
import { addTable } from "./commands/table-program.js";
import { addWatch } from "./commands/watch-program.js";
import { operandsOf, refuseDashesAsValue } from "./operands.js";
import { kindOption, namespaceOption, sortOption, withCommonOptions } from "./options.js";
import { EXIT_CODES_HELP, LOCK_EXIT_CODES_HELP } from "./output/exit-codes.js";
import { type Run, standardOutput } from "./output/output.js";

/**
 * The command line's grammar. `onRun` is called with what the words ask for; nothing is run by
 * parsing. `words` are all of them, to tell `--` from its absence.
 */
export function programOf(words: readonly string[], onRun: (run: Run) => void): Command {
  const program = new Command("holdfast")
    .description("Locks and leases on a DynamoDB table.")
    .version(version())
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => standardOutput(false).out(text.trimEnd()),
      // Told once, by whoever catches the error.
      writeErr: () => undefined,
    })
    .hook("preAction", (_, command) => refuseDashesAsValue(command))
    .addHelpText("after", EXIT_CODES_HELP);
  addLock(program, words, onRun);
  addElections(program, words, onRun);
  addCost(program, onRun);
  addLs(program, onRun);
  addSessions(program, onRun);
  addInspect(program, onRun);
  addHistory(program, onRun);
  addWatch(program, onRun);
  addQueue(program, onRun);
  addRelease(program, onRun);
  addTable(program, onRun);
  addDoctor(program, onRun);
  addObject(program, onRun);
  addDemo(program, onRun);
  return program;
}

function version(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

function addLock(program: Command, words: readonly string[], onRun: (run: Run) => void): void {
  withCommonOptions(
    program
      .command("lock")
      .usage("<name...> [options] -- <command> [argument...]")
      .argument("[operands...]")
      .description("Holds a lock while a command runs, and stops the command if the lock is lost."),
  )
    .addOption(sortOption())
    .option("--wait <duration>", 'for how long to wait: "30s", "forever" or 0; default 60s')
    .option("--lease <duration>", "how long a dead holder keeps others out; default 30s")
    .option("--renew <duration>", "how often to renew; default a third of the lease")
    .option("--data <text>", "text to store with the lock: a JSON string, or its bytes")
    .option("--history", "note the grant beside the lock, for `holdfast history`: one write more")
    .option("--owner <text>", "who this is, for people; default host name and process id")
    .option("--fair", "wait in the order of arrival; the lease is then 60s by default")
    .option("--namespace <text>", "with --fair: which of several locks of the name")
    .addHelpText("after", LOCK_HELP)
    .action((operands: string[], options) => {
      const { names, command } = operandsOf("lock", words, operands);
      onRun(async (output) =>
        (await import("./commands/index.js")).lock(names, command, options, output),
      );
    });
}

const LOCK_HELP = `
The command finds HOLDFAST_LEASE_NAME, HOLDFAST_LEASE_FENCE, HOLDFAST_LEASE_OWNER and
HOLDFAST_LEASE_HOLDER in its environment. In another --format there may be no fence, and lengths of
time are those of its own client by default. It runs in a process group of its own, which a guard
ends before the lease does, even if holdfast itself is stopped or killed. INT, TERM, HUP, QUIT,
USR1 and USR2 are passed on to the group. The lock is released when the whole group has ended,
whatever the command's status. With --json only errors are JSON: stdout is the command's.

Several names are locked at once, all or none, in the order of arrival. The command then finds
HOLDFAST_LEASE_NAMES, HOLDFAST_LEASE_FENCES and HOLDFAST_LEASE_HOLDERS instead, each a JSON array
of strings in the order of the names. The loss of one lock stops the command.
${LOCK_EXIT_CODES_HELP}

Example:
  holdfast lock nightly-report --wait 0 --table locks -- ./report.sh --full
  holdfast lock account/7 account/9 --table locks -- ./transfer.sh`;

function addLs(program: Command, onRun: (run: Run) => void): void {
  withCommonOptions(
    program.command("ls").description("Lists the locks that are held, by scanning the table."),
  )
    .addOption(kindOption())
    .option("--prefix <prefix>", "only names that begin with this; the scan costs the same")
    .option("--limit <number>", "stop after so many locks")
    .option("--all", "also locks that nobody holds")
    .addHelpText("after", `\nWhat the scan cost is told on stderr.\n${EXIT_CODES_HELP}`)
    .action((options) =>
      onRun(async (output) => (await import("./commands/index.js")).ls(options, output)),
    );
}

function addSessions(program: Command, onRun: (run: Run) => void): void {
  withCommonOptions(
    program
      .command("sessions")
      .description("Lists the sessions that locks live by, by scanning the table twice."),
  )
    .addHelpText(
      "after",
      "\nOne that has ended is listed only while a lock still names it: that lock can be had at once.\n" +
        EXIT_CODES_HELP,
    )
    .action((options) =>
      onRun(async (output) => (await import("./commands/index.js")).sessions(options, output)),
    );
}

function addHistory(program: Command, onRun: (run: Run) => void): void {
  withCommonOptions(
    program
      .command("history <name>")
      .description(
        "Shows the last grants and forced releases of a lock, as far as they were noted.",
      ),
  )
    .addOption(kindOption())
    .addOption(namespaceOption())
    .action((name: string, options) => {
      onRun(async (output) => (await import("./commands/index.js")).history(name, options, output));
    });
}

function addInspect(program: Command, onRun: (run: Run) => void): void {
  withCommonOptions(
    program.command("inspect <name>").description("Shows what is known of a lock, by one read."),
  )
    .addOption(sortOption())
    .addOption(kindOption())
    .addOption(namespaceOption())
    .addHelpText("after", EXIT_CODES_HELP)
    .action((name: string, options) =>
      onRun(async (output) => (await import("./commands/index.js")).inspect(name, options, output)),
    );
}

function addQueue(program: Command, onRun: (run: Run) => void): void {
  withCommonOptions(
    program
      .command("queue <name>")
      .description("Lists who holds a fair lock and who waits for it, by one read and one query."),
  )
    .addOption(namespaceOption())
    .option("--watch", "go on, every two seconds, and print what has changed")
    .addHelpText("after", EXIT_CODES_HELP)
    .action((name: string, options) =>
      onRun(async (output) => (await import("./commands/index.js")).queue(name, options, output)),
    );
}

const RELEASE_HELP = `
With --holder, whoever still holds it learns at the next renewal. With --force, the holder
finds the request at its next renewal and ends; the lock is free once it has released it, or
once its lease has run out. --force --now does not wait for that.
${EXIT_CODES_HELP}
  75   with --force: its holder has not ended in time; it stays asked
  76   with --holder: the lock does not name that holder`;

function addRelease(program: Command, onRun: (run: Run) => void): void {
  withCommonOptions(
    program
      .command("release <name>")
      .description("Releases a hold of your own whose id you know, or anybody's with --force."),
  )
    .addOption(sortOption())
    .addOption(kindOption())
    .addOption(namespaceOption())
    .option("--holder <id>", "the id of the hold: HOLDFAST_LEASE_HOLDER, or see `holdfast inspect`")
    .option("--force", "ask whoever holds it to end, and wait until it is free")
    .option("--reason <text>", "with --force: why, for its holder and for `inspect`")
    .option("--by <text>", "with --force: who wants it; default host name and process id")
    .option("--now", "with --force: free it at once; two may act until the holder's next renewal")
    .option("--wait <duration>", "with --force: for how long; default until its lease has run out")
    .addHelpText("after", RELEASE_HELP)
    .action((name: string, options) =>
      onRun(async (output) => {
        if (options.force === true && options.holder === undefined) {
          return (await import("./commands/index.js")).forceRelease(name, options, output);
        }
        return (await import("./commands/index.js")).release(name, options, output);
      }),
    );
}

function addDemo(program: Command, onRun: (run: Run) => void): void {
  program
    .command("demo")
    .description("Shows processes that contend for a lock, die and stall, on a table in memory.")
    // Not from the environment: what is set there may be the table that work depends on.
    .option("--endpoint <url>", "run it on DynamoDB there, for example DynamoDB Local")
    .option("--table <name>", "run it on this table, which is created if it is missing")
    .option("--region <region>", "the region of that table")
    .addOption(
      new Option("--break", "let the stalled process write without looking at its deadline"),
    )
    .option("--json", "tell what happens in JSON, one event a line")
    .addHelpText("after", DEMO_HELP)
    .action((options) =>
      onRun(async (output) => (await import("./demo/demo.js")).demo(options, output)),
    );
}

const DEMO_HELP = `
Needs no AWS account. One process is killed while it holds the lock, another is stopped until its
lease is over; at the end the ledger that they wrote is checked from the file alone.

Exit status:
  0    the ledger is in order
  1    it is not, or something did not happen that should have; as with --break
  64   wrong usage
  69   the table cannot be reached
  77   access denied
  78   the table is of another shape`;
