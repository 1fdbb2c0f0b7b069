import { type Command, Option } from "commander";
import { DEFAULTS } from "holdfast/internal";
import { type FormatOptions, LOCK_FORMATS } from "./output/format.js";

/** The options of every command that uses a table, as parsed by commander. */
export interface CommonOptions extends FormatOptions {
  readonly table?: string;
  readonly region?: string;
  readonly endpoint?: string;
  readonly maxClockError?: string;
  readonly json?: boolean;
}

/** The heading, in help texts, of the options for tables of other clients. Follows the command's own options. */
const FOREIGN = "Options for tables of other clients, and for other keys:";
/** The heading of the command's own options: commander's default. */
const OWN = "Options:";

/** Puts the command's own options first: commander orders groups by their first option. Pure. */
export function ownGroupFirst<T>(groups: Map<string, T[]>): Map<string, T[]> {
  const own = groups.get(OWN);
  return own === undefined ? groups : new Map([[OWN, own], ...groups]);
}

/** Adds a command that uses a table, with the options that these commands have in common. */
export function tableCommand(
  program: Command,
  nameAndArguments: string,
  description: string,
  formats: readonly string[] = LOCK_FORMATS,
): Command {
  return program
    .command(nameAndArguments)
    .description(description)
    .addOption(tableOption())
    .addOption(regionOption("the table's region; default: as found by the AWS SDK"))
    .addOption(
      new Option("--endpoint <url>", "the DynamoDB endpoint, for example of DynamoDB Local").env(
        "HOLDFAST_ENDPOINT",
      ),
    )
    .addOption(formatOption(formats).helpGroup(FOREIGN))
    .addOption(
      foreign(
        "--fences <where>",
        "with a format without fences: store fences beside the records",
        "HOLDFAST_FENCES",
      ).choices(["companion"]),
    )
    .addOption(
      foreign(
        "--observations <where>",
        "with a format without ends of leases: keep observations beside the records",
        "HOLDFAST_OBSERVATIONS",
      ).choices(["companion"]),
    )
    .addOption(
      foreign("--pk <name>", "the partition key; default pk, or the format's own", "HOLDFAST_PK"),
    )
    .addOption(
      foreign("--sk <name|none>", "the sort key; default sk, in other formats none", "HOLDFAST_SK"),
    )
    .addOption(
      foreign(
        "--longest-lease <duration>",
        "with dynamodb-lease: the longest lease of any client; default 60s",
        "HOLDFAST_LONGEST_LEASE",
      ),
    )
    .addOption(
      foreign(
        "--max-clock-skew <duration>",
        "with dynamodb-lease: the largest skew of two clocks; default 2s",
        "HOLDFAST_MAX_CLOCK_SKEW",
      ),
    )
    .addOption(
      new Option(
        "--max-clock-error <duration|never>",
        `take over this long after a lease's end; never: watch the record instead; default ${DEFAULTS.maxClockError}`,
      ).env("HOLDFAST_MAX_CLOCK_ERROR"),
    )
    .option("--json", "print JSON, one object a line")
    .addOption(quietOption());
}

function foreign(flags: string, description: string, variable: string): Option {
  return new Option(flags, description).env(variable).helpGroup(FOREIGN);
}

/** Defines --quiet. The output itself looks for the option among the words, because it starts before the parser. */
export function quietOption(): Option {
  return new Option("--quiet", "no notes on stderr, such as what the command waits for");
}

/** Adds a command that runs a user's command under a guard. `names`: the operands before the options. */
export function guardedCommand(
  program: Command,
  verb: string,
  names: string,
  description: string,
): Command {
  return tableCommand(program, verb, description)
    .usage(`${names} [options] -- <command> [argument...]`)
    .argument("[operands...]")
    .option("--die-with-guard", "kill the command if its guard dies; needs `setpriv` (Linux)")
    .option("--ignore-hup", "ignore a hang-up of the terminal, as under nohup");
}

/** Defines --format. */
export function formatOption(formats: readonly string[] = LOCK_FORMATS): Option {
  return new Option("--format <format>", "the format of the records")
    .choices(formats)
    .default("native")
    .env("HOLDFAST_FORMAT");
}

/** Defines --wait of the commands that run a command under a lock or a permit. */
export function waitOption(): Option {
  return new Option(
    "--wait <duration>",
    'how long to wait: 30s, 0, forever, or "lease+5s": 5 s longer than the lease of a dead holder',
  );
}

/** Defines --lease of the commands that run a command under a lock or a permit. The library checks the value. */
export function leaseOption(what: string): Option {
  return new Option("--lease <duration>", `${what}; default ${DEFAULTS.lease}`);
}

/** Defines --renew of the commands that run a command under a lock or a permit. */
export function renewOption(): Option {
  return new Option("--renew <duration>", "how often to renew; default a third of the lease");
}

/** Defines --max-hold of the commands that run a command under a guard. */
export function maxHoldOption(): Option {
  return new Option(
    "--max-hold <duration>",
    "end the command after this time at most; default never",
  );
}

/** Defines --ring of the commands that wait for a lock or a leadership. */
export function ringOption(): Option {
  return new Option(
    "--ring <where>",
    "ring other processes at a release, and be rung: local, or HOST:PORT or HOST:PORT-PORT to listen at; none: never listen",
  );
}

/** Defines --owner of the commands that run a command under a guard. */
export function ownerOption(who = "holder"): Option {
  return new Option(
    "--owner <text>",
    `the ${who}'s label for people; default host name and process id`,
  );
}

/** Defines --sort: the second part of a name, in a table whose sort key is part of names. */
export function sortOption(): Option {
  return new Option("--sort <value>", "the name's sort key, in a format with sort keys in names");
}

/** The option that selects one of several fair locks with the same name. */
export interface NamespaceOptions {
  readonly namespace?: string;
}

/** Defines --namespace. */
export function namespaceOption(): Option {
  return new Option("--namespace <text>", "the namespace of a fair lock");
}

/** Defines --table. */
export function tableOption(): Option {
  return new Option("--table <name>", "the table of the locks").env("HOLDFAST_TABLE");
}

/** Defines --region. */
export function regionOption(description = "the table's region; default: any"): Option {
  return new Option("--region <region>", description).env("HOLDFAST_REGION");
}

/** Defines --kind. Locks and permits have a queue; with `leader`, an operator can ask the holder to release. */
export function kindOption(others: readonly ("leader" | "once")[] = ["leader", "once"]): Option {
  return new Option("--kind <kind>", "the kind of the record")
    .choices(["lock", ...others, "semaphore", "read-write"])
    .default("lock");
}
