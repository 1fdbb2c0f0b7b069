import { checkTable, createTable, type TableOptions, type TableReport } from "holdfast/table";
import { tableOf } from "../../connection.js";
import type { CommonOptions } from "../../options.js";
import { EXIT } from "../../output/exit-codes.js";
import { jsonLine, type Output, printable } from "../../output/output.js";

/** Creates the table, unless a fitting table exists. Returns the exit status. */
export async function create(
  options: CommonOptions & { readonly wait?: string; readonly homeRegion?: string },
  output: Output,
): Promise<number> {
  const { wait, homeRegion } = options;
  const table = await placeOf(options, output);
  print(await createTable({ ...table, wait, homeRegion }), table.format, output);
  return EXIT.ok;
}

/** Checks that the table can store locks. Returns the exit status. */
export async function check(
  options: CommonOptions & { readonly homeRegion?: string },
  output: Output,
): Promise<number> {
  const { homeRegion } = options;
  const table = await placeOf(options, output);
  print(await checkTable({ ...table, homeRegion }), table.format, output);
  return EXIT.ok;
}

/** Resolves the table and its format. */
async function placeOf(options: CommonOptions, output: Output): Promise<TableOptions> {
  const table = await tableOf(options, output);
  return options.format === "object-commit" ? { ...table, format: options.format } : table;
}

function print(report: TableReport, format: TableOptions["format"], output: Output): void {
  if (output.isJson) {
    output.out(jsonLine(report));
    return;
  }
  const what = format === "object-commit" ? "commit records" : "locks";
  const { table, keys, billing, replicas } = report;
  const ttl = report.ttlAttribute === null ? "TTL off" : `TTL on ${report.ttlAttribute}`;
  const key = keys.sk === null ? `key ${keys.pk}` : `keys ${keys.pk} and ${keys.sk}`;
  const regions = replicas.length === 0 ? "" : `, replicated to ${replicas.join(", ")}`;
  output.out(
    printable(`Table "${table}" can store ${what}: ${key}, ${ttl}, ${billing}${regions}.`),
  );
}
