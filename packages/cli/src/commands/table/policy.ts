import { type PolicyFeature, policyFor } from "holdfast/table";
import { EXIT, usageError } from "../../output/exit-codes.js";
import type { FormatOptions } from "../../output/format.js";
import { formatOf } from "../../output/other-formats.js";
import { jsonLine, type Output, prettyJson } from "../../output/output.js";

/** The options of `holdfast table policy`, as parsed by commander. */
interface PolicyCommandOptions extends FormatOptions {
  readonly for: string;
  readonly table?: string;
  readonly region?: string;
  readonly account?: string;
  readonly partition?: string;
  readonly prefix?: readonly string[];
  readonly bucket?: string;
}

/** Prints a policy, without requests. Returns the exit status. */
export async function policy(options: PolicyCommandOptions, output: Output): Promise<number> {
  const { for: features, table, prefix, region, account, partition, bucket } = options;
  if (!table) throw usageError("The table is missing: use --table or set HOLDFAST_TABLE.");
  const wanted = features.split(",").map((feature) => feature.trim()) as PolicyFeature[];
  const { document, notes } = policyFor({
    for: wanted,
    table,
    // An empty variable counts as unset, as for other commands.
    region: region || undefined,
    account,
    partition,
    bucket,
    prefixes: prefix,
    format: formatOf(options),
  });
  output.out(output.isJson ? jsonLine(document) : prettyJson(document));
  for (const note of notes) output.note(note);
  return EXIT.ok;
}
