import { checkTable, createTable, type TableOptions, type TableReport } from "../../index.js";
import { tableOf } from "../connection.js";
import type { CommonOptions } from "../options.js";
import { EXIT } from "../output/exit-codes.js";
import { jsonLine, type Output, printable } from "../output/output.js";

/** Creates the table, or leaves one that fits as it is. Answers the exit status. */
export async function create(
  options: CommonOptions & { readonly wait?: string },
  output: Output,
): Promise<number> {
  const { wait } = options;
  const table = await placeOf(options);
  tell(await createTable({ ...table, wait }), table.format, output);
  return EXIT.ok;
}

/** Checks that the table can keep locks. Answers the exit status. */
export async function check(
  options: CommonOptions & { readonly homeRegion?: string },
  output: Output,
): Promise<number> {
  const { homeRegion } = options;
  const table = await placeOf(options);
  tell(await checkTable({ ...table, homeRegion }), table.format, output);
  return EXIT.ok;
}

/** Which table, and what it is for. */
async function placeOf(options: CommonOptions): Promise<TableOptions> {
  const table = await tableOf(options);
  return options.format === "object-commit" ? { ...table, format: options.format } : table;
}

function tell(report: TableReport, format: TableOptions["format"], output: Output): void {
  if (output.isJson) {
    output.out(jsonLine(report));
    return;
  }
  const what = format === "object-commit" ? "commit records" : "locks";
  const { table, keys, billing, replicas } = report;
  const ttl = report.ttlAttribute === null ? "TTL off" : `TTL on ${report.ttlAttribute}`;
  const key = keys.sk === null ? `key ${keys.pk}` : `keys ${keys.pk} and ${keys.sk}`;
  const regions = replicas.length === 0 ? "" : `, replicated to ${replicas.join(", ")}`;
  output.out(printable(`Table "${table}" can keep ${what}: ${key}, ${ttl}, ${billing}${regions}.`));
}
