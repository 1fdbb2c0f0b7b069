import { Command, Help, Option } from "commander";
// The build copies the version into the output, so that a bundle of the command line reads no file.
import manifest from "../package.json" with { type: "json" };
import { addDev } from "./commands/dev-program.js";
import { addCost, addElections } from "./commands/election/program.js";
import { addObject } from "./commands/object/program.js";
import { addSchedules } from "./commands/schedule-program.js";
import { addSemaphore } from "./commands/semaphore-program.js";
import { addServe } from "./commands/serve-program.js";
import { addDiagnose } from "./commands/table/diagnose-program.js";
import { addTable } from "./commands/table/program.js";
import { addWatch } from "./commands/watch-program.js";
import { complete } from "./completion.js";
import { operandsOf, operandsOfOne, refuseMissingValues } from "./operands.js";
import {
  guardedCommand,
  kindOption,
  leaseOption,
  maxHoldOption,
  namespaceOption,
  ownerOption,
  ownGroupFirst,
  renewOption,
  ringOption,
  sortOption,
  tableCommand,
  waitOption,
} from "./options.js";
import { EXIT_CODES_HELP, LOCK_EXIT_CODES_HELP } from "./output/exit-codes.js";
import type { OnRun } from "./output/output.js";
import { isPermitKind } from "./output/permits.js";

/**
 * Builds the command line's grammar. Parsing calls `onRun` with the requested run, and runs nothing.
 *
 * `words` are all words of the command line, to detect `--`. `print` gets the help and the version.
 */
export function programOf(
  words: readonly string[],
  onRun: OnRun,
  print: (text: string) => void = () => undefined,
): Command {
  const program = new Command("holdfast")
    .description("Locks and leases on a DynamoDB table.")
    .version(manifest.version)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => print(text.trimEnd()),
      // Commander prints no error: the code that catches the error prints the message, once.
      writeErr: () => undefined,
    })
    .configureHelp({
      groupItems(...items) {
        return ownGroupFirst(Help.prototype.groupItems.apply(this, items as never) as never);
      },
    })
    .hook("preAction", (_, command) => refuseMissingValues(command, words))
    .addHelpText("after", EXIT_CODES_HELP);
  addLock(program, words, onRun);
  addCoalesce(program, words, onRun);
  addSchedules(program, words, onRun);
  addSemaphore(program, words, onRun);
  addElections(program, words, onRun);
  addCost(program, onRun);
  addLs(program, onRun);
  addSessions(program, onRun);
  addAssignment(program, onRun);
  addInspect(program, onRun);
  addHistory(program, onRun);
  addWatch(program, onRun);
  addQueue(program, onRun);
  addServe(program, onRun);
  addRelease(program, onRun);
  addInterrupt(program, onRun);
  addTable(program, onRun);
  addDiagnose(program, onRun);
  addObject(program, onRun);
  addDemo(program, onRun);
  addDev(program, onRun);
  addComplete(program, words, onRun);
  return program;
}

function addLock(program: Command, words: readonly string[], onRun: OnRun): void {
  guardedCommand(
    program,
    "lock",
    "<name...>",
    "Runs a command while holding a lock, and ends the command if the lock is lost.",
  )
    .addOption(sortOption())
    .addOption(waitOption())
    .addOption(leaseOption("how long a dead holder blocks the lock"))
    .addOption(renewOption())
    .addOption(maxHoldOption())
    .option("--data <text>", "text to store with the lock: as a JSON string, or as bytes")
    .option("--history", "note the grant for `holdfast history`; costs another write")
    .addOption(ownerOption())
    .option("--read", "hold a read-write lock for reading: any number of readers at a time")
    .option("--write", "hold a read-write lock for writing: alone")
    .option("--fair", "wait in the order of arrival; the default lease is then 60s")
    .option("--namespace <text>", "with --fair: the namespace of the lock")
    .addOption(
      new Option(
        "--if-held <how>",
        "interrupt: the holder must stop, and the newest waiter wins; announce: the holder learns that you wait",
      ).choices(["interrupt", "announce"]),
    )
    .addOption(ringOption())
    .option("--listen <duration>", "learn this soon of an interruption: half a read unit each")
    .option(
      "--kill-after <duration>",
      "when interrupted: the time from SIGTERM to SIGKILL; default a tenth of the lease, at most 2s",
    )
    .addHelpText("after", LOCK_HELP)
    .action((operands: string[], options) => {
      const { names, command } = operandsOf("lock", words, operands);
      onRun(async (output, host) =>
        (await import("./commands/index.js")).lock(names, command, options, output, host),
      );
    });
}

const LOCK_HELP = `
The environment of the command has HOLDFAST_LEASE_NAME, HOLDFAST_LEASE_FENCE, HOLDFAST_LEASE_OWNER
and HOLDFAST_LEASE_HOLDER. With another --format there may be no fence, and durations default as in
the format's own client. The command runs in a separate process group. A guard process ends the
group before the lease expires, even if holdfast itself is stopped or killed. INT, TERM, HUP, QUIT,
USR1 and USR2 are passed on to the group. The lock is released when the whole group has ended, for
any exit status. With --json only errors are JSON: stdout belongs to the command.

Several names are locked together, all or none, in the order of arrival. The environment then has
HOLDFAST_LEASE_NAMES, HOLDFAST_LEASE_FENCES and HOLDFAST_LEASE_HOLDERS, each a JSON array of strings
in the order of the names. The loss of any of the locks ends the command.

With --read or --write the name is a read-write lock: of several readers, or of one writer. Such a lock
and a lock without these options are different locks, even of the same name.

Another client, a newer command with --if-held interrupt or \`holdfast interrupt\`, can interrupt the holder of
any lock but a read-write lock. The command then gets SIGTERM, and SIGKILL after --kill-after, at the latest
just before the lease ends.
${LOCK_EXIT_CODES_HELP}

Example:
  holdfast lock nightly-report --table locks -- ./report.sh --full
  holdfast lock account/7 account/9 --table locks -- ./transfer.sh`;

function addCoalesce(program: Command, words: readonly string[], onRun: OnRun): void {
  guardedCommand(
    program,
    "coalesce",
    "<name>",
    "Runs a command now; or, if it runs anywhere under this name, once more after that.",
  )
    .addOption(leaseOption("how long a dead run blocks the next one"))
    .addOption(ownerOption())
    .option("--if-owed", "run only if an earlier call is owed a run, for a schedule")
    .addHelpText("after", COALESCE_HELP)
    .action((operands: string[], options) => {
      const { name, command } = operandsOfOne("coalesce", words, operands);
      onRun(async (output, host) =>
        (await import("./commands/index.js")).coalesce(name, command, options, output, host),
      );
    });
}

const COALESCE_HELP = `
For a command that always handles the latest state. During a run elsewhere, this command ends at once with
status 0: the process of that run runs its own command again. With --json it then prints
{"ran":false,"by":...}. This process, too, runs the command again for each call that came during its run,
and ends only then. If every process dies, the record keeps what is owed: --if-owed runs it. A signal is
passed on to the command, and ends the repetitions; a run that it ends stays owed. Environment, guard and
signals are those of \`holdfast lock\`. The exit status is that of the last run.
${LOCK_EXIT_CODES_HELP}

Example:
  holdfast coalesce mirror/7 --table locks -- ./mirror.sh 7`;

function addLs(program: Command, onRun: OnRun): void {
  tableCommand(program, "ls", "Lists the held locks, by a scan of the table.")
    .addOption(kindOption())
    .option("--prefix <prefix>", "only names with this prefix; the scan costs the same")
    .option("--limit <number>", "list at most this many locks")
    .option("--all", "include locks without a holder")
    .addHelpText("after", `\nThe cost of the scan is printed on stderr.\n${EXIT_CODES_HELP}`)
    .action((options) =>
      onRun(async (output) => (await import("./commands/index.js")).ls(options, output)),
    );
}

function addSessions(program: Command, onRun: OnRun): void {
  tableCommand(
    program,
    "sessions",
    "Lists sessions with their locks and permits, by two scans of the table.",
  )
    .addHelpText(
      "after",
      "\nAn ended session is listed only while a lock names the session. Such a lock is free to acquire.\n" +
        EXIT_CODES_HELP,
    )
    .action((options) =>
      onRun(async (output) => (await import("./commands/index.js")).sessions(options, output)),
    );
}

function addAssignment(program: Command, onRun: OnRun): void {
  tableCommand(
    program,
    "assignment <group>",
    "Shows who shares the names of an assignment, by a scan and a query.",
  )
    .addHelpText("after", EXIT_CODES_HELP)
    .action((group: string, options) =>
      onRun(async (output) =>
        (await import("./commands/index.js")).assignment(group, options, output),
      ),
    );
}

function addHistory(program: Command, onRun: OnRun): void {
  tableCommand(program, "history <name>", "Shows the noted grants and forced releases of a lock.")
    .addOption(kindOption(["leader"]))
    .addOption(namespaceOption())
    .action((name: string, options) => {
      onRun(async (output) => (await import("./commands/index.js")).history(name, options, output));
    });
}

function addInspect(program: Command, onRun: OnRun): void {
  tableCommand(program, "inspect <name>", "Shows the state of a lock, by a single read.")
    .addOption(sortOption())
    .addOption(kindOption())
    .addOption(namespaceOption())
    .addHelpText("after", EXIT_CODES_HELP)
    .action((name: string, options) =>
      onRun(async (output) => (await import("./commands/index.js")).inspect(name, options, output)),
    );
}

function addQueue(program: Command, onRun: OnRun): void {
  tableCommand(
    program,
    "queue <name>",
    "Lists the holder and the waiters of a fair lock, by a read and a query.",
  )
    .addOption(kindOption([]))
    .addOption(namespaceOption())
    .option("--watch", "poll every two seconds, and print changes")
    .addHelpText("after", EXIT_CODES_HELP)
    .action((name: string, options) =>
      onRun(async (output, host) =>
        (await import("./commands/index.js")).queue(name, options, output, host),
      ),
    );
}

const RELEASE_HELP = `
With --holder, a live holder detects the loss at its next renewal. With --force, the holder reads the
request at its next renewal, and its lease is lost; the lock is free when the holder releases, or when
the lease expires. A signal ends the wait, and the request remains. --force --now frees the lock without
waiting for the holder.
With --kind semaphore or read-write, --holder names the permit, also with --force. A live holder detects
the loss of its permit at the next renewal of its session.
${EXIT_CODES_HELP}
  75   with --force: the holder has not released in time; the request remains
  76   with --holder: the lock does not name this holder`;

function addRelease(program: Command, onRun: OnRun): void {
  tableCommand(program, "release <name>", "Releases a lock by holder id, or by force with --force.")
    .addOption(sortOption())
    .addOption(kindOption(["leader"]))
    .addOption(namespaceOption())
    .option("--holder <id>", "the holder id: HOLDFAST_LEASE_HOLDER, or see `holdfast inspect`")
    .option("--force", "ask the holder to release, and wait until the lock is free")
    .option("--reason <text>", "with --force: the reason, for the holder and for `inspect`")
    .option("--by <text>", "with --force: the operator's label; default host name and process id")
    .option(
      "--now",
      "with --force: free the lock at once; two holders may act until the first one's next renewal",
    )
    .option("--wait <duration>", "with --force: how long to wait; default until the lease expires")
    .addHelpText("after", RELEASE_HELP)
    .action((name: string, options) =>
      onRun(async (output, host) => {
        if (
          options.force === true &&
          (options.holder === undefined || isPermitKind(options.kind))
        ) {
          return (await import("./commands/index.js")).forceRelease(name, options, output, host);
        }
        return (await import("./commands/index.js")).release(name, options, output);
      }),
    );
}

const INTERRUPT_HELP = `
Neither waits nor acquires. A program learns of it by its lease's signal, and a command of \`holdfast lock\` gets
SIGTERM. The lock stays with the holder until its release, or until its lease ends: it is renewed no more.
Exits with 0 also if the lock is free.
${EXIT_CODES_HELP}`;

function addInterrupt(program: Command, onRun: OnRun): void {
  tableCommand(program, "interrupt <name>", "Tells the holder of a lock to stop.")
    .addOption(namespaceOption())
    .option("--by <text>", "your label, for the holder; default host name and process id")
    .addHelpText("after", INTERRUPT_HELP)
    .action((name: string, options) =>
      onRun(async (output, host) =>
        (await import("./commands/index.js")).interrupt(name, options, output, host),
      ),
    );
}

function addDemo(program: Command, onRun: OnRun): void {
  program
    .command("demo")
    .description("Shows processes that contend for a lock, die and stall, on a table in memory.")
    // The demo ignores the environment variables: the table that they name may be in production use.
    .option("--endpoint <url>", "use DynamoDB at this endpoint, for example DynamoDB Local")
    .option("--table <name>", "use this table; created if missing")
    .option("--region <region>", "the region of the table")
    .addOption(new Option("--break", "let the stalled process write without checking its deadline"))
    .option("--serve", "serve the page of the demo's table while the demo runs")
    .option("--json", "print events as JSON, one a line")
    .addHelpText("after", DEMO_HELP)
    .action((options) =>
      onRun(async (output, host) => (await import("./demo/demo.js")).demo(options, output, host)),
    );
}

function addComplete(program: Command, words: readonly string[], onRun: OnRun): void {
  program
    .command("complete")
    .usage("<bash|zsh|fish>")
    .argument("[words...]")
    .description("Prints a script with which a shell completes commands and options.")
    .addHelpText("after", COMPLETE_HELP)
    .action(() => onRun(async (output) => complete(program, words.slice(1), output)));
}

const COMPLETE_HELP = `
Sends no request, so it does not complete the names of locks.

Example:
  bash: source <(holdfast complete bash)
  zsh:  source <(holdfast complete zsh)
  fish: holdfast complete fish | source
${EXIT_CODES_HELP}`;

const DEMO_HELP = `
Needs no AWS account. One process is killed while holding the lock, another is stopped until its lease
has expired. At the end the ledger that the processes wrote is checked, from the file alone.

Exit status:
  0    the ledger is in order
  1    the ledger is not in order, or an expected event did not happen; as with --break
  64   wrong usage
  69   the table cannot be reached
  77   access denied
  78   the table has different keys or settings`;
