import type { HoldfastError } from "../errors.js";
import type { SignalLike } from "./abort.js";

/**
 * What the kernel needs of a table, and no more. Conditions and changes are small data, so that the
 * same request can be compiled to DynamoDB's expressions, and interpreted directly by a simulation.
 * Every call answers with a closed union: contention, throttling, an unreachable table and a wrong
 * configuration are four different things, and none of them is an exception.
 */

/** A value as DynamoDB has it. */
export type AttributeValue =
  | { readonly S: string }
  | { readonly N: string }
  | { readonly B: Uint8Array }
  | { readonly BOOL: boolean }
  | { readonly NULL: true }
  | { readonly SS: readonly string[] }
  | { readonly NS: readonly string[] }
  | { readonly BS: readonly Uint8Array[] }
  | { readonly L: readonly AttributeValue[] }
  | { readonly M: { readonly [name: string]: AttributeValue } };

/** An item as DynamoDB has it. */
export type Item = { readonly [attribute: string]: AttributeValue };

/** What must be true of the item for a write to be applied. */
export type Condition =
  | { readonly kind: "present" | "absent"; readonly attribute: string }
  | {
      readonly kind: "equals" | "below" | "at-least";
      readonly attribute: string;
      readonly value: AttributeValue;
    }
  | { readonly kind: "same"; readonly attribute: string; readonly as: string }
  | { readonly kind: "all" | "any"; readonly of: readonly Condition[] };

/** One above the attribute's value, or above `incrementFrom` where it is absent. */
export interface Increment {
  readonly incrementFrom: string;
}

/** The attribute as it is, or this value where it is absent. */
export interface OrElse {
  readonly orElse: AttributeValue;
}

/** What a write does to the item, once its condition holds. */
export interface Change {
  readonly set: { readonly [attribute: string]: AttributeValue | Increment | OrElse };
  readonly remove: readonly string[];
}

/** One conditional write on one item. The item is created if the condition holds on its absence. */
export interface Write {
  readonly key: Item;
  readonly condition: Condition;
  readonly change: Change;
  /**
   * What becomes of the rest of the item. `"update"`, the default: it stays. `"put"`: nothing of it does,
   * and what `change` sets are plain values. `"delete"`: the item is deleted, and `change` is empty.
   */
  readonly as?: "update" | "put" | "delete";
}

/** Up to 100 conditional writes on as many items: all of them are applied, or none is. */
export interface Transaction {
  readonly writes: readonly Write[];
  /**
   * New with every transaction, at most 36 characters. For ten minutes a repetition of one that was
   * applied is answered `applied`, and changes nothing, whatever has become of the items since.
   */
  readonly token: string;
}

/** One read of one item. */
export interface Read {
  readonly key: Item;
  /** True: sees every write answered before it was sent, for twice the price. */
  readonly consistent: boolean;
  /** Only these attributes come back; all of them where it is left out. */
  readonly attributes?: readonly string[];
}

/** One page of a scan over the whole table. */
export interface Scan {
  /** Only items whose key attribute `attribute` begins with this, which is not empty; else all. */
  readonly prefix: { readonly attribute: string; readonly value: string } | undefined;
  /** Where the page before this one ended. */
  readonly after?: Item | undefined;
}

/** One page of the items of one partition, in the order of their sort keys' bytes. */
export interface Query {
  readonly partition: { readonly attribute: string; readonly value: string };
  /** Only sort keys from here to there, both included. */
  readonly sort: { readonly attribute: string; readonly from: string; readonly to: string };
  /** True: sees every write answered before it was sent, for twice the price. */
  readonly consistent: boolean;
  /** From the highest sort key down. */
  readonly isDescending?: boolean;
  /** A page ends after so many items; by default only where a megabyte is full. */
  readonly mostItems?: number;
  /** Where the page before this one ended. */
  readonly after?: Item | undefined;
}

/** The bounds of one call. */
export interface Call {
  /** The call is answered `unknown` when this many milliseconds have passed. */
  readonly timeoutMs: number;
  /** The call is answered `unknown` when this aborts. */
  readonly signal?: SignalLike | undefined;
  /** Whether the answer is to say what was charged for it, where DynamoDB says so: not for a refused write. */
  readonly tellsUnits?: boolean;
}

/** Nobody can say whether the request was, or will still be, applied. */
export interface Unknown {
  readonly kind: "unknown";
  readonly cause: unknown;
}
/**
 * The request was certainly not applied; it may be sent again after a pause. `skewed`: the time of its signature
 * was refused, since this machine's clock is minutes off; the client signs the next request by the table's time.
 */
export interface NotNow {
  readonly kind: "throttled" | "conflict" | "skewed";
  readonly cause: unknown;
}
/** The request was not applied and would not be if it were sent again. */
export interface Misconfigured {
  readonly kind: "misconfigured";
  readonly error: HoldfastError;
}

/** What a write is answered with. */
export type WriteAnswer =
  /** The write was applied; `item` is what it made, or undefined if it deleted the item. */
  | {
      readonly kind: "applied";
      readonly item: Item | undefined;
      readonly units?: number | undefined;
    }
  /** The condition did not hold; `item` is what was found, or undefined where there was nothing. */
  | {
      readonly kind: "refused";
      readonly item: Item | undefined;
      /** The client sent the request more than once, so an earlier send of it may have been applied. */
      readonly isRepeated?: boolean;
      /** Nobody can tell whether it did: what is around the client may send again, and says nothing of it. */
      readonly mayBeRepeated?: boolean;
    }
  | Unknown
  | NotNow
  | Misconfigured;

/** What a transaction is answered with. */
export type TransactionAnswer =
  /** All its writes were applied. What they made is not shown. */
  | { readonly kind: "applied" }
  /** Some condition did not hold, so none was applied. */
  | {
      readonly kind: "refused";
      /** For each write, in order: what was found where its condition did not hold; else undefined. */
      readonly refusals: readonly (Refusal | undefined)[];
      /**
       * The refusal itself could not be read: `refusals` has, for every write, what a strongly consistent read
       * found afterwards, and does not say which conditions failed.
       */
      readonly isReadLater?: boolean;
      /** As of a single write. */
      readonly isRepeated?: boolean;
      /** As of a single write. */
      readonly mayBeRepeated?: boolean;
    }
  | Unknown
  | NotNow
  | Misconfigured;

/** Whether a request that was answered so may have been applied by a send of the client's own before. */
export function mayBeApplied(answer: WriteAnswer | TransactionAnswer): boolean {
  if (answer.kind !== "refused") return answer.kind === "applied";
  return answer.isRepeated === true || answer.mayBeRepeated === true;
}

/** Why one write of a transaction could not be applied. */
export interface Refusal {
  /** What was found, or undefined where there was nothing. */
  readonly item: Item | undefined;
}

/** What a read is answered with. */
export type ReadAnswer =
  | { readonly kind: "found"; readonly item: Item | undefined; readonly units?: number | undefined }
  | Unknown
  | NotNow
  | Misconfigured;

/** What a scan, or a query, is answered with, page by page. */
export type ScanAnswer =
  | {
      readonly kind: "page";
      readonly items: readonly Item[];
      readonly next: Item | undefined;
      /** What DynamoDB charged for the page, in read capacity units, where it said so. */
      readonly readUnits: number | undefined;
    }
  | Unknown
  | NotNow
  | Misconfigured;

/** How a table carries out a transaction. */
export type Transacting = (transaction: Transaction, call: Call) => Promise<TransactionAnswer>;

/** The table, as the kernel sees it. */
export interface TablePort {
  write(write: Write, call: Call): Promise<WriteAnswer>;
  /** Left out where the table has no transactions: several locks at once are refused then. */
  readonly transact?: Transacting | undefined;
  read(read: Read, call: Call): Promise<ReadAnswer>;
  scan(scan: Scan, call: Call): Promise<ScanAnswer>;
  query(query: Query, call: Call): Promise<ScanAnswer>;
  /**
   * How far the table's clock is ahead of this machine's, in milliseconds, where an answer has shown
   * them more than an hour apart; else 0 (R10).
   */
  readonly clockCorrectionMs: number;
  /** There is no table: nobody else is there, and every claim is granted. */
  readonly isLocal?: boolean;
}
