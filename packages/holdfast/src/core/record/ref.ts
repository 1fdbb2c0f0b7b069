import type { AttributeValue, Change, Condition, Item, Write } from "../../platform/table.js";
import type { CompositeName } from "./format-types.js";
import type { Found, HolderRequest, Version } from "./record.js";

/** The purpose of a record. Records of different kinds never share a key, even with equal names. */
export type Kind = "lock" | "leader" | "once" | "session" | "semaphore" | "read-write";

/** The purpose of a record with several holders. */
export type SharedKind = Extract<Kind, "semaphore" | "read-write">;

/** Identifies the record of a lease. */
export interface RecordRef {
  readonly kind: Kind;
  /** The name as messages show it. */
  readonly name: string;
  /** The two parts of a composite name. */
  readonly parts?: CompositeName;
  readonly key: Item;
  /** The key as one string; the client's observations are stored under this id. */
  readonly id: string;
  /** Separates several locks of one name. The lock that a mutex of the name uses has no namespace. */
  readonly namespace?: string | undefined;
  /** Whether the record is an entry of a queue: a release deletes an entry, and frees a lock's record. */
  readonly isEntry?: boolean;
  /** How a record with several holders differs from all others. The ref of one permit has it, too. */
  readonly shared?: SharedCodec | undefined;
  /** The permit of one holder in the record: reads and writes then concern this permit alone. */
  readonly permit?: PermitRef | undefined;
}

/** Reads a record with several holders, or one of its permits, and composes the writes of one permit. */
export interface SharedCodec {
  /** Describes the record, or the permit of the ref, in an item that was read as the record of a lock. */
  read(found: Found, item: Item | undefined, ref: RecordRef): Found;
  free(ref: RecordRef, from: Holders, options: FreeOptions): Write;
  heldCondition(held: Held): Condition;
  ask(ref: RecordRef, request: HolderRequest): Write;
}

/** One permit in a record with several. */
export interface PermitRef {
  readonly holder: string;
  readonly weight: number;
  /** Whether the removal leaves a mark: a copy of the request that granted the permit may still take effect. */
  readonly leavesMark: boolean;
}

/** A granted lease: the condition of each of its writes (R7). */
export interface Held {
  readonly holder: string;
  readonly fence: bigint;
  /** The number from a {@link FenceCounter}, or from the block of a kept lease; the record does not contain it. */
  readonly number?: bigint | undefined;
}

/** A held record as a waiter observed it: the condition of a takeover. */
export interface Watched {
  readonly holder: string;
  readonly version: Version;
  /** The session in the observed record, or undefined if the record has no session. */
  readonly session?: string | undefined;
}

/** The holders that a release or a hand-off accepts in the record. */
export interface Holders {
  /** The holder of the last acknowledged grant, with its fence. */
  readonly known?: Held | undefined;
  /** Holders of unacknowledged writes. Each id occurs in a single write, so the id suffices. */
  readonly maybe?: readonly string[] | undefined;
  /** A dead holder in the middle of a takeover, exactly as observed. */
  readonly watched?: Watched | undefined;
}

/** The values of a release. */
export interface FreeOptions {
  readonly keepData: boolean;
  /** Whether the record stays without its data, too, in a format whose releases delete it. */
  readonly keepRecord?: boolean | undefined;
  /** Further attributes that such a record loses with its data. */
  readonly attributes?: Change["set"] | undefined;
  /** User data to write, only with `keepData`. If undefined, the record keeps its data. */
  readonly lastData?: unknown;
  /** The last ticket of a place that no waiter needs any more: the queue then continues after this ticket. */
  readonly served?: bigint | undefined;
  /** Whether the releasing client marks its grants, so that the release removes the mark. */
  readonly hasRings?: boolean;
  /** The id to record as the last holder. */
  readonly lastHolder: string;
  readonly wallMs: number;
  /** A forced release to record, as the format stores it. */
  readonly forced?: AttributeValue | undefined;
  /** New with every write in a format that needs a mark; otherwise empty. */
  readonly mark: string;
}
