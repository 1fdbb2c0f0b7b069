import type { Item } from "../../platform/table.js";

/**
 * The content of a record, independent of formats. A format translates its items into these types, and every
 * decision uses these types alone.
 */

/**
 * Changes with every grant and renewal of a record. A number never decreases; a text is never reused, and can
 * only be compared for equality.
 */
export type Version = bigint | string;

/** The state of the queue before a record; the tickets only grow. */
export interface QueueState {
  /** The last ticket taken. */
  readonly tail: bigint | undefined;
  /** The last ticket granted. */
  readonly served: bigint | undefined;
  /** When the record was freed, or its lease ends, by the wall clock of the last holder. Decides only about turns. */
  readonly overWallMs?: number | undefined;
}

/** Notes a forced release, requested or done: for operators, and for the holder. */
export interface ForcedRelease {
  /** The one grant that must end. */
  readonly holder: string;
  /** The label of the requester. */
  readonly by: string;
  /** The requester's reason, as free text. */
  readonly reason: string;
  /** The time of the request by the requester's clock, as ISO text. */
  readonly at: string;
  /** Whether the requester freed the lock at once, without waiting for its holder. */
  readonly now: boolean;
}

/**
 * A client's request to a holder. The request names one grant and never affects another. `prefer`: a preferred
 * candidate stands by; `resign`: give up the leadership; `want`: a waiter wants the lock; `interrupt`: stop, and
 * release; `release`: a forced release. Each kind is stronger than the kind before.
 */
export type HolderRequest =
  | { readonly kind: "prefer" | "resign"; readonly holder: string }
  | {
      readonly kind: "want" | "interrupt";
      readonly holder: string;
      /** The label of the asker. */
      readonly by: string;
    }
  | (ForcedRelease & { readonly kind: "release" });

/**
 * Numbers an asker among those that interrupt the holders of a record: a later one has a higher number. It outlives the
 * holders, so that an earlier asker never gets the lock after a later one has asked.
 */
export interface Asked {
  readonly number: bigint;
  /** The id of the asker; undefined if a caller with this number got the lock without asking. */
  readonly by: string | undefined;
}

/** Describes a past grant of a name, for operators. Stored beside the record; only the record decides who holds. */
export interface GrantNote {
  readonly fence: bigint;
  readonly holder: string;
  /** The readable label of the holder. */
  readonly owner: string;
  /** The time of the grant by the holder's clock, as ISO text. */
  readonly at: string;
  /** How the holder got the lease: a free record, a dead holder, a holder of the same process, or an export. */
  readonly how: "claim" | "takeover" | "hand-over" | "import";
  /** The last forced release before the grant, which may have freed the record. */
  readonly forced: ForcedRelease | undefined;
}

interface Known {
  /** Higher at every grant of the name than at any earlier grant; always 0 in a format without fences. */
  readonly fence: bigint;
  readonly version: Version;
  readonly queue: QueueState;
  /** The last holder, if a release recorded it. */
  readonly lastHolder: string | undefined;
  /** The readable label of the holder, or of the last holder. */
  readonly owner: string | undefined;
  /** The time of the last grant by its holder's wall clock, for operators. */
  readonly acquiredAt: string | undefined;
  readonly data: unknown;
  /** Further attributes for users, in a format that supports attributes. */
  readonly attributes?: Item | undefined;
  /** The last request to a holder. The record keeps a request until the next one, even after the named grant ends. */
  readonly request?: HolderRequest | undefined;
  /** The last asker that interrupts holders of this record. */
  readonly asked?: Asked | undefined;
  /** Raised by every call of a coalesced work, and by every grant of a run of it. Undefined before the first call. */
  readonly calls?: bigint | undefined;
  /** `calls` as the last completed run found it at its start. Undefined before the first such run. */
  readonly ran?: bigint | undefined;
  /** In a session's record: the holders on the session that have a request in their own records. */
  readonly requestedHolders?: readonly string[] | undefined;
}

/** A holder that its session keeps alive. */
export interface OnSession {
  readonly holder: string;
  /** Higher than the fence of every earlier holder of the record. */
  readonly fence: bigint;
  readonly session: string;
  /** The length of that session, in milliseconds. */
  readonly leaseMs: number;
}

/** A record without a holder. */
export interface FreeRecord extends Known {
  readonly state: "free";
  /** The holders of permits; undefined if there are none. */
  readonly permits?: readonly OnSession[] | undefined;
}

/** A record with a holder, alive or dead. */
export interface HeldRecord extends Known {
  readonly state: "held";
  /** The id of the holder's acquisition. */
  readonly holder: string;
  /** How long the holder may be silent before it counts as dead, in milliseconds. */
  readonly leaseMs: number;
  /**
   * The end of the lease in the table's time, in milliseconds since 1970. Undefined if the record has none: a waiter
   * must then watch the record.
   */
  readonly endMs?: number | undefined;
  /**
   * The wall-clock time, in milliseconds, before which the format's own protocol forbids a takeover. A waiter must also
   * watch the record (R11). Undefined if the format uses lengths alone.
   */
  readonly notBeforeWallMs?: number | undefined;
  /** The session that keeps the holder alive, or undefined if the holder renews the record itself. */
  readonly session: string | undefined;
  /** The mark of the last write that renewed the lease, changed its length or moved it to a session. */
  readonly mark: string | undefined;
  /** The number of the last write of user data under this grant. */
  readonly dataSeq: number;
  /** How a waiter reaches the holder's client beside the table: advice, which proves nothing. */
  readonly ring?: string | undefined;
}

/** The name has no record. */
export interface AbsentRecord {
  readonly state: "absent";
}

/** The item at the key is not a record of this format; the client must not touch the item (R12). */
export interface UnreadableRecord {
  readonly state: "foreign" | "unsupported";
  /** Describes the item, in words that complete the sentence "the record ...". */
  readonly found: string;
}

/** A record that the client can read. */
export type LeaseRecord = AbsentRecord | FreeRecord | HeldRecord;

/** Every possible content of a key. */
export type Found = LeaseRecord | UnreadableRecord;

/** Returns the forced release in a record, if the last request to a holder is a forced release. */
export function forcedReleaseIn(
  record: { readonly request?: HolderRequest | undefined } | undefined,
): ForcedRelease | undefined {
  if (record?.request?.kind !== "release") return undefined;
  const { kind: _, ...forced } = record.request;
  return forced;
}

/** A request to the present holder: of a waiter, of an operator, or of another candidate for a leadership. */
export interface PendingRequest {
  /**
   * `interrupt`: stop, and release. `announced`: a waiter wants the lock. `release`: a forced release. `resign`: give up
   * the leadership. `prefer`: a preferred candidate stands by.
   */
  readonly kind: "interrupt" | "announced" | "release" | "resign" | "prefer";
  /** The label of the asker; undefined for `resign` and `prefer`. */
  readonly by: string | undefined;
}

/** Returns the request to this holder, and undefined for one to an earlier holder. */
export function pendingIn({
  request,
  holder,
}: {
  readonly request?: HolderRequest | undefined;
  readonly holder: string;
}): PendingRequest | undefined {
  if (request?.holder !== holder) return undefined;
  const { kind, by } = request as HolderRequest & { readonly by?: string };
  return { kind: kind === "want" ? "announced" : kind, by };
}

/** Whether the client can read the record. */
export function isReadable(found: Found): found is LeaseRecord {
  return found.state !== "foreign" && found.state !== "unsupported";
}

/**
 * The right of a claim to pass a queue: its ticket, the caller's wish to barge past the waiters, or the number of an
 * asker that interrupts the holder. A claim without any requires an empty queue.
 */
export type Passage =
  /** `isNext`: the grant requires that the last granted ticket is the one before, so that no read is needed. */
  | { readonly kind: "ticket"; readonly ticket: bigint; readonly isNext?: boolean }
  | { readonly kind: "barge" }
  /** Refused once a later asker has a number. Without a number, the grant itself takes the next one. */
  | { readonly kind: "asker"; readonly number: bigint | undefined };

/** Whether waiters are queued before a record. */
export function hasQueue({ queue }: { readonly queue: QueueState }): boolean {
  return queue.tail !== queue.served;
}

/**
 * `open`: the claim may proceed. `queued`: other waiters come first. `passed-over`: the queue has granted this
 * ticket or a later one, so this claim can never be granted.
 */
export function standing(
  queue: QueueState,
  passage: Passage | undefined,
): "open" | "queued" | "passed-over" {
  if (passage === undefined) return hasQueue({ queue }) ? "queued" : "open";
  if (passage.kind !== "ticket" || queue.served === undefined) return "open";
  return queue.served < passage.ticket ? "open" : "passed-over";
}
