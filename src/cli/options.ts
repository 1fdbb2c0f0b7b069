import { type Command, Option } from "commander";

/** The options of every command that talks to a table, as commander leaves them. */
export interface CommonOptions {
  readonly table?: string;
  readonly region?: string;
  readonly endpoint?: string;
  readonly pk?: string;
  readonly sk?: string;
  readonly json?: boolean;
}

/** Adds the options that every command on a table has. */
export function withCommonOptions(command: Command): Command {
  return command
    .addOption(tableOption())
    .addOption(regionOption("its region; default: as the AWS SDK finds it"))
    .addOption(
      new Option("--endpoint <url>", "where DynamoDB answers, for DynamoDB Local and the like").env(
        "HOLDFAST_ENDPOINT",
      ),
    )
    .addOption(new Option("--pk <name>", "the partition key, if not pk").env("HOLDFAST_PK"))
    .addOption(
      new Option("--sk <name|none>", "the sort key, if not sk; none if it has none").env(
        "HOLDFAST_SK",
      ),
    )
    .option("--json", "answer in JSON, one object a line");
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
