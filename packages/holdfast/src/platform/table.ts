import type { HoldfastError } from "../errors.js";
import type { SignalLike } from "./abort.js";

/**
 * The port to a table, with only the requests that the core needs. Conditions and changes are plain data:
 * DynamoDB's adapter compiles them to expressions, and the simulation interprets them directly. The answer to a call is
 * one of a closed union. Contention, throttling, an unreachable table and a wrong configuration are four different
 * answers, and no call throws.
 */

/** A value in DynamoDB's form. */
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

/** An item in DynamoDB's form. */
export type Item = { readonly [attribute: string]: AttributeValue };

/** The condition of a write. */
export type Condition =
  | { readonly kind: "present" | "absent"; readonly attribute: string }
  | {
      /** `differs`: the attribute is absent, or has another value. */
      readonly kind: "equals" | "differs" | "below" | "at-least";
      readonly attribute: string;
      /** The member to compare, if the attribute is a map. Without `member`, the whole attribute is compared. */
      readonly member?: string | undefined;
      readonly value: AttributeValue;
    }
  | { readonly kind: "same"; readonly attribute: string; readonly as: string }
  | { readonly kind: "all" | "any"; readonly of: readonly Condition[] };

/** Adds `by` (default 1) to the attribute, or to `incrementFrom` if the attribute is absent. */
export interface Increment {
  readonly incrementFrom: string;
  readonly by?: number;
  /** The attribute to read, as it was before the write. Default: the attribute that is set. */
  readonly of?: string;
}

/** Keeps the attribute, or sets an absent attribute to this value. */
export interface OrElse {
  readonly orElse: AttributeValue;
}

/** The change of a write, applied if the condition is true. */
export interface Change {
  readonly set: { readonly [attribute: string]: AttributeValue | Increment | OrElse };
  readonly remove: readonly string[];
}

/** One conditional write on one item. Creates the item if the condition is true for an absent item. */
export interface Write {
  readonly key: Item;
  readonly condition: Condition;
  readonly change: Change;
  /**
   * What happens to the other attributes. `"update"` (default) keeps them. `"put"` removes them; `change` must then
   * have no {@link Increment} and no {@link OrElse}. `"delete"` deletes the item; `change` must then be empty.
   */
  readonly as?: "update" | "put" | "delete";
}

/** Up to 100 conditional writes, each on a different item. DynamoDB applies all of them or none. */
export interface Transaction {
  readonly writes: readonly Write[];
  /**
   * A new value for each transaction, at most 36 characters. If a client sends an applied transaction again
   * within ten minutes, DynamoDB answers `applied` and changes nothing, even if the items have changed since.
   */
  readonly token: string;
}

/** One read of one item. */
export interface Read {
  readonly key: Item;
  /**
   * True for a strongly consistent read. It shows every write that DynamoDB answered earlier, and costs twice as much.
   */
  readonly consistent: boolean;
  /** The attributes to return; default all. */
  readonly attributes?: readonly string[];
}

/** The beginning of a key: the key attribute `attribute` begins with `value`, which is not empty. */
export interface KeyPrefix {
  readonly attribute: string;
  readonly value: string;
}

/** One page of a scan over the whole table. */
export interface Scan {
  /** Limits the scan to items with one of these prefixes; without a prefix, the scan has every item. */
  readonly prefixes: readonly KeyPrefix[];
  /** The largest number of items that a page reads. By default only DynamoDB's limit of one megabyte ends a page. */
  readonly mostItems?: number;
  /** The `next` of the page before. */
  readonly after?: Item | undefined;
}

/** One page of the items of one partition, in the byte order of their sort keys. */
export interface Query {
  readonly partition: { readonly attribute: string; readonly value: string };
  /** The range of the sort keys, from `from` to `to`, both included. */
  readonly sort: { readonly attribute: string; readonly from: string; readonly to: string };
  /**
   * True for a strongly consistent read. It shows every write that DynamoDB answered earlier, and costs twice as much.
   */
  readonly consistent: boolean;
  /** From the highest sort key down. */
  readonly isDescending?: boolean;
  /** The largest number of items on a page. By default only DynamoDB's limit of one megabyte ends a page. */
  readonly mostItems?: number;
  /** The `next` of the page before. */
  readonly after?: Item | undefined;
}

/** The bounds of one call. */
export interface Call {
  /** After this many milliseconds without an answer, the port answers `unknown`. */
  readonly timeoutMs: number;
  /** When this signal aborts, the port answers `unknown`. */
  readonly signal?: SignalLike | undefined;
  /**
   * Whether the answer includes the consumed capacity. DynamoDB does not report capacity for a refused write.
   */
  readonly tellsUnits?: boolean;
}

/** An answer of the service, or of a part of the service. */
export interface Dated {
  /**
   * The `Date` of the answer in milliseconds since 1970: the time of the service, rounded down to whole seconds.
   * Undefined if the answer has none.
   */
  readonly dateMs?: number | undefined;
}

/** The request may have been applied, or may still be applied. */
export interface Unknown extends Dated {
  readonly kind: "unknown";
  readonly cause: unknown;
  /** Where the client sends its requests, for messages; undefined if not known. */
  readonly endpoint?: string | undefined;
  /** Present if the caller itself ended the wait for the answer: this says nothing of the table. */
  readonly isCutOff?: true;
}
/**
 * The request was certainly not applied; the caller may retry after a pause. `skewed`: DynamoDB refused the
 * signature because this machine's clock is minutes off. The client signs the next request by DynamoDB's time.
 */
export interface NotNow extends Dated {
  readonly kind: "throttled" | "conflict" | "skewed";
  readonly cause: unknown;
}
/** The request was not applied, and a retry would not be applied. */
export interface Misconfigured extends Dated {
  readonly kind: "misconfigured";
  readonly error: HoldfastError;
}

/** The answer to a write. */
export type WriteAnswer =
  /** The write was applied; `item` is the new item, or undefined after a delete. */
  | (Dated & {
      readonly kind: "applied";
      readonly item: Item | undefined;
      readonly units?: number | undefined;
    })
  /** The condition was false; `item` is the item found, or undefined for an absent item. */
  | (Dated & {
      readonly kind: "refused";
      readonly item: Item | undefined;
      /** The client sent the request more than once, so an earlier send may have been applied. */
      readonly isRepeated?: boolean;
      /**
       * A wrapper around the client may have sent the request more than once, and the answer does not show it.
       */
      readonly mayBeRepeated?: boolean;
    })
  | Unknown
  | NotNow
  | Misconfigured;

/** The answer to a transaction. */
export type TransactionAnswer =
  /** All writes were applied. The new items are not in the answer. */
  | (Dated & { readonly kind: "applied"; readonly units?: number | undefined })
  /** At least one condition was false, so no write was applied. */
  | (Dated & {
      readonly kind: "refused";
      /** For each write, in order: the refusal if its condition was false, else undefined. */
      readonly refusals: readonly (Refusal | undefined)[];
      /**
       * True: the SDK could not parse the refusal, so the port has read every item, strongly consistent. For every
       * write, `refusals` then has the result of this read. The result does not show which conditions failed.
       */
      readonly isReadLater?: boolean;
      /** As in {@link WriteAnswer}. */
      readonly isRepeated?: boolean;
      /** As in {@link WriteAnswer}. */
      readonly mayBeRepeated?: boolean;
    })
  | Unknown
  | NotNow
  | Misconfigured;

/**
 * Whether DynamoDB may have applied the write, by this answer: the answer is `applied`, or the client may have sent a
 * refused request more than once. The caller itself has to count earlier sends without an answer.
 */
export function mayBeApplied(answer: WriteAnswer | TransactionAnswer): boolean {
  if (answer.kind !== "refused") return answer.kind === "applied";
  return answer.isRepeated === true || answer.mayBeRepeated === true;
}

/** Whether DynamoDB has judged the write: the answer shows the item. */
export function isJudged<A extends { readonly kind: string }>(
  answer: A,
): answer is Extract<A, { readonly kind: "applied" | "refused" }> {
  return answer.kind === "applied" || answer.kind === "refused";
}

/** Why one write of a transaction was not applied. */
export interface Refusal {
  /** The item found, or undefined for an absent item. */
  readonly item: Item | undefined;
}

/** The answer to a read. */
export type ReadAnswer =
  | (Dated & {
      readonly kind: "found";
      readonly item: Item | undefined;
      readonly units?: number | undefined;
    })
  | Unknown
  | NotNow
  | Misconfigured;

/** The answer to a scan or a query, one page at a time. */
export type ScanAnswer =
  | (Dated & {
      readonly kind: "page";
      readonly items: readonly Item[];
      readonly next: Item | undefined;
      /** The consumed read capacity units of the page, if DynamoDB reported them. */
      readonly readUnits: number | undefined;
    })
  | Unknown
  | NotNow
  | Misconfigured;

/** How a table carries out a transaction. */
export type Transacting = (transaction: Transaction, call: Call) => Promise<TransactionAnswer>;

/** The port to a table: everything that the core asks of a table. */
export interface TablePort {
  write(write: Write, call: Call): Promise<WriteAnswer>;
  /** Undefined if the table has no transactions. A client then refuses to lock several names at once. */
  readonly transact?: Transacting | undefined;
  read(read: Read, call: Call): Promise<ReadAnswer>;
  scan(scan: Scan, call: Call): Promise<ScanAnswer>;
  query(query: Query, call: Call): Promise<ScanAnswer>;
  /**
   * How far the table's clock is ahead of this machine's clock, in milliseconds. 0 unless an answer has shown a
   * difference of more than an hour. The client corrects its wall clock by this number (R10).
   */
  readonly clockCorrectionMs: number;
  /**
   * Whether answers are expected to have a `Date`. Undefined or false: no lease has an end in the table's time, and a
   * waiter must watch its record.
   */
  readonly tellsDate?: boolean | undefined;
  /** How many requests the transport sends at once; the others wait for a connection. Undefined if not known. */
  readonly connections?: number | undefined;
  /** How many requests, also of other parts of the program, wait for a connection of the transport now. */
  readonly waitingForConnection?: number | undefined;
  /** A table of this process alone: there are no other holders, and every claim is granted. */
  readonly isUnlocked?: boolean;
}
