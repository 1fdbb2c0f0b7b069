import { HoldfastError } from "holdfast";
import type { Item, Refusal, Write } from "holdfast/internal";
import { sizeBytes, writeUnits } from "./capacity.js";
import { checkWrite, holds, keyText } from "./interpret.js";

const MOST_WRITES = 100;
const LONGEST_TOKEN = 36;
const TOKEN_LIFE_MS = 600_000;
/** A transaction prepares and commits, and each phase costs as much as a plain write. */
const TRANSACTION_FACTOR = 2;

/** The planned change of one item. */
export interface PlannedChange {
  readonly key: Item;
  readonly after: Item | undefined;
  readonly write: Write | undefined;
}

/** The plan of a transaction. */
interface Plan {
  /** Undefined where every condition holds. */
  readonly refusals: readonly (Refusal | undefined)[] | undefined;
  readonly changes: readonly PlannedChange[];
  readonly writeUnits: number;
}

/** Throws for a transaction that DynamoDB refuses before reading an item. */
export function checkTransaction(writes: readonly Write[], token: string): void {
  if (writes.length === 0 || writes.length > MOST_WRITES) {
    throw misconfigured(
      `A transaction must have 1 to ${MOST_WRITES} writes; this transaction has ${writes.length}.`,
    );
  }
  if (token === "" || token.length > LONGEST_TOKEN) {
    throw misconfigured(
      `A token must have 1 to ${LONGEST_TOKEN} characters; this token has ${token.length}.`,
    );
  }
  if (new Set(writes.map(({ key }) => keyText(key))).size < writes.length) {
    throw misconfigured("A transaction cannot write to one item twice.");
  }
  for (const write of writes) checkWrite(write);
}

/** Checks every item before any change. */
export function plannedTransaction(
  writes: readonly Write[],
  itemOf: (key: Item) => Item | undefined,
  made: (write: Write, before: Item | undefined) => Item | undefined,
): Plan {
  const found = writes.map(({ key, condition }) => {
    const item = itemOf(key);
    return { item, isPassed: holds(condition, item) };
  });
  const isRefused = found.some(({ isPassed }) => !isPassed);
  const changes = writes.map((write, index) => {
    const item = found[index]?.item;
    // A refused write may be impossible to apply.
    const after = isRefused ? item : made(write, item);
    return { key: write.key, after, write };
  });
  const units = changes.map(({ after }, index) =>
    writeUnits(sizeBytes(found[index]?.item), sizeBytes(after)),
  );
  return {
    refusals: isRefused
      ? found.map(({ item, isPassed }) => (isPassed ? undefined : { item }))
      : undefined,
    changes,
    writeUnits: TRANSACTION_FACTOR * units.reduce((sum, one) => sum + one, 0),
  };
}

/** The tokens of applied transactions, each kept for ten minutes. */
export class Tokens {
  readonly #appliedMs = new Map<string, number>();

  has(token: string, nowMs: number): boolean {
    const appliedMs = this.#appliedMs.get(token);
    return appliedMs !== undefined && nowMs < appliedMs + TOKEN_LIFE_MS;
  }

  add(token: string, nowMs: number): void {
    for (const [known, appliedMs] of this.#appliedMs) {
      // Tokens are stored in the order of application, so the first young token ends the search.
      if (nowMs < appliedMs + TOKEN_LIFE_MS) break;
      this.#appliedMs.delete(known);
    }
    this.#appliedMs.set(token, nowMs);
  }
}

function misconfigured(message: string): HoldfastError {
  return new HoldfastError("misconfigured", message);
}
