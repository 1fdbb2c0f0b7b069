import type {
  Call,
  Item,
  Misconfigured,
  NotNow,
  Read,
  ReadAnswer,
  Transaction,
  TransactionAnswer,
  Unknown,
  WriteAnswer,
} from "../table.js";
import { isUnreadRefusal } from "./errors.js";

/**
 * Handles refusals that the SDK received but could not parse. Any client with permission to write one nested attribute
 * can cause such refusals with a key `__proto__`. If the client treated them as missing answers, waiters would report
 * an unavailable table and take over late. The SDK can read the items, so the client reads the item and decides by it.
 */

type Found = Extract<ReadAnswer, { readonly kind: "found" }>;
type Reading = (read: Read, call: Call) => Promise<ReadAnswer>;

/** Answers the write of one item from a read of the item, after an unreadable refusal. */
export async function refusalRead(
  error: unknown,
  key: Item,
  read: Reading,
  call: Call,
): Promise<Extract<WriteAnswer, { readonly kind: "refused" }> | Unknown | NotNow | Misconfigured> {
  const found = await readAll(error, [key], read, call);
  if (!Array.isArray(found)) return found;
  const [{ item, dateMs } = { item: undefined }] = found;
  // The record that refused the write is gone. Only a retry of the write can show the outcome.
  if (item === undefined) return { kind: "unknown", cause: error };
  return { kind: "refused", item, dateMs };
}

/** Answers a transaction from reads of all its items, after an unreadable refusal. */
export async function cancellationRead(
  error: unknown,
  { writes }: Transaction,
  read: Reading,
  call: Call,
): Promise<TransactionAnswer> {
  const keys = writes.map(({ key }) => key);
  const found = await readAll(error, keys, read, call);
  if (!Array.isArray(found)) return found;
  const refusals = found.map(({ item }) => ({ item }));
  return { kind: "refused", refusals, isReadLater: true };
}

/** The error of an unreadable refusal; undefined for any other answer. */
export function unreadIn(answer: {
  readonly kind: string;
}): { readonly cause: unknown } | undefined {
  if (answer.kind !== "misconfigured") return undefined;
  const { cause } = (answer as Misconfigured).error;
  return isUnreadRefusal(cause) ? { cause } : undefined;
}

async function readAll(
  error: unknown,
  keys: readonly Item[],
  read: Reading,
  call: Call,
): Promise<Found[] | Unknown | NotNow | Misconfigured> {
  if (call.timeoutMs <= 0) return { kind: "unknown", cause: error };
  const answers = await Promise.all(keys.map((key) => read({ key, consistent: true }, call)));
  const found: Found[] = [];
  for (const answer of answers) {
    if (answer.kind !== "found") return answer;
    found.push(answer);
  }
  return found;
}
