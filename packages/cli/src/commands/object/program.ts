import { type Command, Option } from "commander";
import { quietOption } from "../../options.js";
import { OBJECT_EXIT_CODES_HELP } from "../../output/exit-codes.js";
import type { OnRun } from "../../output/output.js";

/** Adds the commands for objects to the command line's grammar. */
export function addObject(program: Command, onRun: OnRun): void {
  const object = program
    .command("object")
    .description(
      "Creates, replaces, copies and renames objects. If several writers compete, one of them wins.",
    );
  object.addHelpText("after", OBJECT_EXIT_CODES_HELP);
  withObjectOptions(
    object.command("put <key> <file>").description("Puts a file, or stdin for -, as an object."),
  )
    .option("--if-absent", "only if the object does not exist")
    .option(
      "--if-match <etag>",
      "only if the object has this ETag, with or without its quotation marks",
    )
    .option("--content-type <type>", "the object's media type")
    .action((key: string, file: string, options) =>
      onRun(async (output, host) =>
        (await import("./object.js")).put(key, file, options, output, host),
      ),
    );
  withObjectOptions(
    object.command("copy <from> <to>").description("Copies an object within the bucket."),
  )
    .option("--if-absent", "fail if the destination has an object; also without this option")
    .action((from: string, to: string, options) =>
      onRun(async (output) => (await import("./object.js")).copy(from, to, options, output)),
    );
  withObjectOptions(
    object
      .command("mv <from> <to>")
      .description("Copies an object, then deletes the source: two steps."),
  )
    .option("--if-absent", "fail if the destination has an object; also without this option")
    .action((from: string, to: string, options) =>
      onRun(async (output) => (await import("./object.js")).mv(from, to, options, output)),
    );
  withObjectOptions(
    object.command("inspect <key>").description("Shows an object and its commit records."),
  ).action((key: string, options) =>
    onRun(async (output) => (await import("./object.js")).inspect(key, options, output)),
  );
}

function withObjectOptions(command: Command): Command {
  const option = (flags: string, description: string, variable: string): Option =>
    new Option(flags, description).env(variable);
  return command
    .addOption(option("--bucket <name>", "the bucket", "HOLDFAST_BUCKET"))
    .addOption(
      option(
        "--strategy <strategy>",
        "decide by the store, the table, or both; auto probes the store",
        "HOLDFAST_STRATEGY",
      )
        .choices(["conditional", "dynamo", "both", "auto"])
        .default("auto"),
    )
    .addOption(option("--table <name>", "the table of commit records", "HOLDFAST_COMMIT_TABLE"))
    .addOption(option("--s3-endpoint <url>", "the endpoint of the store", "HOLDFAST_S3_ENDPOINT"))
    .addOption(option("--endpoint <url>", "the endpoint of DynamoDB", "HOLDFAST_ENDPOINT"))
    .addOption(option("--region <region>", "the region of store and table", "HOLDFAST_REGION"))
    .option("--timeout <duration>", "how long this writer may act on its record; default 20s")
    .option(
      "--wait <duration>",
      "how long to try in total, or 0: not to wait for another writer; default 80s",
    )
    .option("--json", "print JSON, one object a line")
    .addOption(quietOption())
    .addHelpText("after", OBJECT_EXIT_CODES_HELP);
}
