import { HoldfastError } from "../../errors.js";
import type { Item, Refusal, Write } from "../../platform/table.js";
import { sizeBytes, writeUnits } from "./capacity.js";
import { checkWrite, holds, keyText } from "./interpret.js";

const MOST_WRITES = 100;
const LONGEST_TOKEN = 36;
const TOKEN_LIFE_MS = 600_000;
/** A transaction prepares and commits, and each of the two costs what the write alone does. */
const TRANSACTION_FACTOR = 2;

/** What becomes of one item. */
export interface PlannedChange {
  readonly key: Item;
  readonly after: Item | undefined;
  readonly write: Write | undefined;
}

/** What a transaction comes to. */
interface Plan {
  /** Undefined where every condition holds. */
  readonly refusals: readonly (Refusal | undefined)[] | undefined;
  readonly changes: readonly PlannedChange[];
  readonly writeUnits: number;
}

/** Throws for what DynamoDB refuses before it looks at any item. */
export function checkTransaction(writes: readonly Write[], token: string): void {
  if (writes.length === 0 || writes.length > MOST_WRITES) {
    throw misconfigured(
      `A transaction has 1 to ${MOST_WRITES} writes; this one has ${writes.length}.`,
    );
  }
  if (token === "" || token.length > LONGEST_TOKEN) {
    throw misconfigured(
      `A token has 1 to ${LONGEST_TOKEN} characters; this one has ${token.length}.`,
    );
  }
  if (new Set(writes.map(({ key }) => keyText(key))).size < writes.length) {
    throw misconfigured("A transaction cannot write to one item twice.");
  }
  for (const write of writes) checkWrite(write);
}

/** Looks at every item before any is changed. */
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
    // A refused write may be one that could not have been carried out.
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

/** The tokens of transactions that were applied, for ten minutes each. */
export class Tokens {
  readonly #appliedMs = new Map<string, number>();

  has(token: string, nowMs: number): boolean {
    const appliedMs = this.#appliedMs.get(token);
    return appliedMs !== undefined && nowMs < appliedMs + TOKEN_LIFE_MS;
  }

  add(token: string, nowMs: number): void {
    for (const [known, appliedMs] of this.#appliedMs) {
      // In the order in which they were applied.
      if (nowMs < appliedMs + TOKEN_LIFE_MS) break;
      this.#appliedMs.delete(known);
    }
    this.#appliedMs.set(token, nowMs);
  }
}

function misconfigured(message: string): HoldfastError {
  return new HoldfastError("misconfigured", message);
}
