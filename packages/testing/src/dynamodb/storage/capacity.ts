import type { Members } from "../operations/request.js";

/** The capacity that a request consumed on one table. */
export interface Usage {
  readonly table: string;
  readonly units: number;
}

const MODES = ["INDEXES", "TOTAL", "NONE"] as const;

type Mode = (typeof MODES)[number];

/** The detail of consumed capacity that the caller requested. */
export function capacityMode(request: Members): Mode {
  return request.oneOf("ReturnConsumedCapacity", MODES) ?? "NONE";
}

function describe(mode: Mode, { table, units }: Usage): { readonly [name: string]: unknown } {
  return {
    TableName: table,
    CapacityUnits: units,
    ...(mode === "INDEXES" ? { Table: { CapacityUnits: units } } : {}),
  };
}

/** The member `ConsumedCapacity` of an answer about one table, if requested. */
export function consumedCapacity(
  mode: Mode,
  table: string,
  units: number,
): { readonly ConsumedCapacity?: unknown } {
  return mode === "NONE" ? {} : { ConsumedCapacity: describe(mode, { table, units }) };
}

/** The member `ConsumedCapacity` of a transaction's answer: summed by table, with the kind of unit named. */
export function transactionCapacity(
  mode: Mode,
  kind: "ReadCapacityUnits" | "WriteCapacityUnits",
  usages: readonly Usage[],
): { readonly ConsumedCapacity?: unknown } {
  if (mode === "NONE") return {};
  const byTable = new Map<string, number>();
  for (const { table, units } of usages) byTable.set(table, (byTable.get(table) ?? 0) + units);
  return {
    ConsumedCapacity: [...byTable].map(([table, units]) => ({
      ...describe(mode, { table, units }),
      [kind]: units,
    })),
  };
}
