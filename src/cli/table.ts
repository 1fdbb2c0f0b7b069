import { checkTable, createTable, type TableFormat, type TableReport } from "../index.js";
import { tableOf } from "./connection.js";
import { EXIT } from "./exit-codes.js";
import type { CommonOptions } from "./options.js";
import { jsonLine, type Output, printable } from "./output.js";

interface TableCommandOptions extends CommonOptions {
  readonly format?: TableFormat;
}

/** Creates the table, or leaves one that fits as it is. Answers the exit status. */
export async function create(
  options: TableCommandOptions & { readonly wait?: string },
  output: Output,
): Promise<number> {
  const { format, wait } = options;
  const report = await createTable({ ...(await tableOf(options)), format, wait });
  tell(report, format, output);
  return EXIT.ok;
}

/** Checks that the table can keep locks. Answers the exit status. */
export async function check(
  options: TableCommandOptions & { readonly homeRegion?: string },
  output: Output,
): Promise<number> {
  const { format, homeRegion } = options;
  const report = await checkTable({ ...(await tableOf(options)), format, homeRegion });
  tell(report, format, output);
  return EXIT.ok;
}

function tell(report: TableReport, format: TableFormat | undefined, output: Output): void {
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
