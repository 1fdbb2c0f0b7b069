import { checkTable, createTable, type TableReport } from "../index.js";
import { tableOf } from "./connection.js";
import { EXIT } from "./exit-codes.js";
import type { CommonOptions } from "./options.js";
import { jsonLine, type Output, printable } from "./output.js";

/** Creates the table, or leaves one that fits as it is. Answers the exit status. */
export async function create(
  options: CommonOptions & { readonly wait?: string },
  output: Output,
): Promise<number> {
  const report = await createTable({ ...(await tableOf(options)), wait: options.wait });
  tell(report, output);
  return EXIT.ok;
}

/** Checks that the table can keep locks. Answers the exit status. */
export async function check(
  options: CommonOptions & { readonly homeRegion?: string },
  output: Output,
): Promise<number> {
  const table = await tableOf(options);
  const report = await checkTable({ ...table, homeRegion: options.homeRegion });
  tell(report, output);
  return EXIT.ok;
}

function tell(report: TableReport, output: Output): void {
  if (output.isJson) {
    output.out(jsonLine(report));
    return;
  }
  const { table, keys, ttlAttribute, billing, replicas } = report;
  const key = keys.sk === null ? `key ${keys.pk}` : `keys ${keys.pk} and ${keys.sk}`;
  const regions = replicas.length === 0 ? "" : `, replicated to ${replicas.join(", ")}`;
  output.out(
    printable(
      `Table "${table}" can keep locks: ${key}, TTL on ${ttlAttribute}, ${billing}${regions}.`,
    ),
  );
}
