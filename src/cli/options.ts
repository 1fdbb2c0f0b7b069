import { type Command, Option } from "commander";
import { type FormatOptions, LOCK_FORMATS } from "./output/format.js";

/** The options of every command that talks to a table, as commander leaves them. */
export interface CommonOptions extends FormatOptions {
  readonly table?: string;
  readonly region?: string;
  readonly endpoint?: string;
  readonly json?: boolean;
}

/** Adds the options that every command on a table has. */
export function withCommonOptions(
  command: Command,
  formats: readonly string[] = LOCK_FORMATS,
): Command {
  return command
    .addOption(tableOption())
    .addOption(regionOption("its region; default: as the AWS SDK finds it"))
    .addOption(
      new Option("--endpoint <url>", "where DynamoDB answers, for DynamoDB Local and the like").env(
        "HOLDFAST_ENDPOINT",
      ),
    )
    .addOption(formatOption(formats))
    .addOption(
      new Option("--fences <where>", "with a format that has none: kept beside each record")
        .choices(["companion"])
        .env("HOLDFAST_FENCES"),
    )
    .addOption(
      new Option("--pk <name>", "the partition key; default pk, or the format's own").env(
        "HOLDFAST_PK",
      ),
    )
    .addOption(
      new Option("--sk <name|none>", "the sort key; default sk, in other formats none").env(
        "HOLDFAST_SK",
      ),
    )
    .addOption(
      new Option(
        "--longest-lease <duration>",
        "with dynamodb-lease: of any client; default 60s",
      ).env("HOLDFAST_LONGEST_LEASE"),
    )
    .addOption(
      new Option(
        "--max-clock-skew <duration>",
        "with dynamodb-lease: of two clocks; default 2s",
      ).env("HOLDFAST_MAX_CLOCK_SKEW"),
    )
    .option("--json", "answer in JSON, one object a line");
}

/** Whose records they are. */
export function formatOption(formats: readonly string[] = LOCK_FORMATS): Option {
  return new Option("--format <format>", "whose records they are")
    .choices(formats)
    .default("native")
    .env("HOLDFAST_FORMAT");
}

/** The second part of a name, in a table with a sort key that is part of names. */
export function sortOption(): Option {
  return new Option("--sort <value>", "the name's sort key, in a format whose names have one");
}

/** One of several fair locks of a name. */
export interface NamespaceOptions {
  readonly namespace?: string;
}

/** Which of several fair locks of a name. */
export function namespaceOption(): Option {
  return new Option("--namespace <text>", "which of several fair locks of the name");
}

/** Which table. */
export function tableOption(): Option {
  return new Option("--table <name>", "the table of the locks").env("HOLDFAST_TABLE");
}

/** In which region it is. */
export function regionOption(description = "its region; default: any"): Option {
  return new Option("--region <region>", description).env("HOLDFAST_REGION");
}

/** Locks, or the leaderships of elections: their names never meet. */
export function kindOption(): Option {
  return new Option("--kind <kind>", "locks, or the leaderships of elections")
    .choices(["lock", "leader"])
    .default("lock");
}
