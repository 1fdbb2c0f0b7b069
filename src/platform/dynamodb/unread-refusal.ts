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
 * Refusals that the SDK received and could not read. Anyone who may write one nested attribute can bring that
 * about, with a key `__proto__`. Taken for silence, rivals would call the table dead and take over late; so the
 * records are read instead, which the SDK can do, and what they say decides.
 */

type Reading = (read: Read, call: Call) => Promise<ReadAnswer>;

/** The answer to the write of one item, as its item says, where the refusal was not readable. */
export async function refusalRead(
  error: unknown,
  key: Item,
  read: Reading,
  call: Call,
): Promise<Extract<WriteAnswer, { readonly kind: "refused" }> | Unknown | NotNow | Misconfigured> {
  const found = await readAll(error, [key], read, call);
  if (!Array.isArray(found)) return found;
  const [item] = found;
  // What refused the write has gone since: only the write, sent again, tells what that means.
  if (item === undefined) return { kind: "unknown", cause: error };
  return { kind: "refused", item };
}

/** The answer to a transaction, as all its items say, where the refusal was not readable. */
export async function cancellationRead(
  error: unknown,
  { writes }: Transaction,
  read: Reading,
  call: Call,
): Promise<TransactionAnswer> {
  const keys = writes.map(({ key }) => key);
  const found = await readAll(error, keys, read, call);
  if (!Array.isArray(found)) return found;
  const refusals = found.map((item) => ({ item }));
  return { kind: "refused", refusals, isReadLater: true };
}

/** The error of an answer that only says that the refusal was not readable; undefined for any other. */
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
): Promise<(Item | undefined)[] | Unknown | NotNow | Misconfigured> {
  if (call.timeoutMs <= 0) return { kind: "unknown", cause: error };
  const answers = await Promise.all(keys.map((key) => read({ key, consistent: true }, call)));
  const found: (Item | undefined)[] = [];
  for (const answer of answers) {
    if (answer.kind !== "found") return answer;
    found.push(answer.item);
  }
  return found;
}
