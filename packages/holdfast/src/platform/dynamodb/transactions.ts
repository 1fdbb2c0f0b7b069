import type { Item, Refusal, Transaction, TransactionAnswer } from "../table.js";
import { FOR_LOCKS, refused } from "./errors.js";
import { actionOf, writeInput } from "./inputs.js";

/** Transactions on DynamoDB: the request, and the reasons of a cancellation. */

/** The request of a transaction. Pure. */
export function transactionInput(
  table: string,
  { writes, token }: Transaction,
): { readonly TransactItems: readonly object[]; readonly ClientRequestToken: string } {
  return {
    TransactItems: writes.map((write) => ({
      [actionOf(write)]: { TableName: table, ...writeInput(write) },
    })),
    ClientRequestToken: token,
  };
}

/** Why one action cancelled its transaction. */
interface Reason {
  readonly Code?: string;
  readonly Message?: string;
  readonly Item?: Item;
}

interface Cancellation {
  readonly name?: unknown;
  readonly CancellationReasons?: readonly Reason[];
  readonly $metadata?: { readonly attempts?: number };
}

const THROTTLED = ["ProvisionedThroughputExceeded", "ThrottlingError"];
const CONFLICT = "TransactionConflict";
const REFUSED = "ConditionalCheckFailed";

/** The answer to a cancelled transaction; undefined for any other error. Pure. */
export function cancellationOf(error: unknown, table: string): TransactionAnswer | undefined {
  const { name, CancellationReasons: reasons, $metadata } = (error ?? {}) as Cancellation;
  if (name !== "TransactionCanceledException") return undefined;
  // Without reasons the error does not even say which condition failed.
  if (!Array.isArray(reasons)) return { kind: "unknown", cause: error };
  const codes = reasons.map(({ Code }) => Code ?? "None");
  const isRepeated = ($metadata?.attempts ?? 1) > 1;
  if (codes.includes(REFUSED)) {
    const refusals = reasons.map(refusalOf);
    return { kind: "refused", refusals, ...(isRepeated ? { isRepeated } : {}) };
  }
  // The error describes the last of several attempts. An earlier attempt may have been applied.
  if (isRepeated) return { kind: "unknown", cause: error };
  if (codes.some((code) => THROTTLED.includes(code))) return { kind: "throttled", cause: error };
  if (codes.includes(CONFLICT)) return { kind: "conflict", cause: error };
  const message = reasons.find(({ Code }) => (Code ?? "None") !== "None")?.Message;
  const names = [...new Set(codes)].join(", ");
  return { kind: "misconfigured", error: refused(error, names, message, table, FOR_LOCKS) };
}

function refusalOf({ Code, Item: item }: Reason): Refusal | undefined {
  return Code === REFUSED ? { item } : undefined;
}
