import type { Item } from "../../platform/table.js";

/**
 * What a record says, in no particular format. A format reads its own items into this, and the
 * decisions are taken on this alone.
 */

/**
 * What changes with every grant and renewal of a record: a number that never goes back, or a text that is
 * never used twice and can only be compared for equality.
 */
export type Version = bigint | string;

/** What a record says of the queue that may stand before it; both numbers only grow. */
export interface QueueState {
  /** The last ticket given. */
  readonly tail: bigint | undefined;
  /** The last ticket granted. */
  readonly served: bigint | undefined;
}

/** That somebody wanted a holder to end, or ended it: for people, and for that holder. */
export interface ForcedRelease {
  /** The grant that was to end; meant for no other. */
  readonly holder: string;
  /** Who wanted it. */
  readonly by: string;
  /** Why, in their words. */
  readonly reason: string;
  /** When, ISO, by their clock. */
  readonly at: string;
  /** Whether the lock was freed at once, without waiting for its holder. */
  readonly now: boolean;
}

/** That a name was granted, for people: beside the record, which decides. */
export interface GrantNote {
  readonly fence: bigint;
  readonly holder: string;
  /** The label for people. */
  readonly owner: string;
  /** When, ISO, by the holder's clock. */
  readonly at: string;
  /** From nobody, from one who was watched dead, from a lease of the same process, or exported by one. */
  readonly how: "claim" | "takeover" | "hand-over" | "import";
  /** A forced release before it, which may be what made room for it. */
  readonly forced: ForcedRelease | undefined;
}

interface Known {
  /** Higher at every grant of the name than at any earlier one; always 0 in a format without fences. */
  readonly fence: bigint;
  readonly version: Version;
  readonly queue: QueueState;
  /** Who held it last, as far as a release said so. */
  readonly lastHolder: string | undefined;
  /** The readable label of who holds it, or held it last. */
  readonly owner: string | undefined;
  /** When it was last granted, by the wall clock of whoever took it: for people. */
  readonly acquiredAt: string | undefined;
  readonly data: unknown;
  /** What else the record carries for its users, in a format that has room for it. */
  readonly attributes?: Item | undefined;
  /** The holder that was last asked to give up. */
  readonly resignAsked?: string | undefined;
  /** The holder that a preferred candidate last asked to give up. */
  readonly preferAsked?: string | undefined;
  /** The last forced release of all; it stays until the next one. */
  readonly forced?: ForcedRelease | undefined;
  /** Of a session: the holders on it that were asked to end, each named in its own record too. */
  readonly asked?: readonly string[] | undefined;
}

/** A record that nobody holds. */
export interface FreeRecord extends Known {
  readonly state: "free";
}

/** A record that somebody holds, or held when they died. */
export interface HeldRecord extends Known {
  readonly state: "held";
  /** The acquisition that has it. */
  readonly holder: string;
  /** How long the holder may be silent before it counts as dead, in milliseconds. */
  readonly leaseMs: number;
  /**
   * Civil time, in milliseconds, before which the format's own protocol lets nobody take it; only in
   * addition to the watch (R11). Undefined where lengths alone count.
   */
  readonly notBeforeWallMs?: number | undefined;
  /** The session that the holder lives by; undefined while it renews the record itself. */
  readonly session: string | undefined;
  /** The mark of the write that last changed what the record lives by. */
  readonly mark: string | undefined;
  /** The number of the last write of user data under this grant. */
  readonly dataSeq: number;
}

/** There is no record of the name. */
export interface AbsentRecord {
  readonly state: "absent";
}

/** Something is at the key that must not be touched (R12). */
export interface UnreadableRecord {
  readonly state: "foreign" | "unsupported";
  /** What was found, in words that finish the sentence "the record ...". */
  readonly found: string;
}

/** A record that can be reasoned about. */
export type LeaseRecord = AbsentRecord | FreeRecord | HeldRecord;

/** Whatever can be at a key. */
export type Found = LeaseRecord | UnreadableRecord;

/** Whether something at a key can be reasoned about. */
export function isReadable(found: Found): found is LeaseRecord {
  return found.state !== "foreign" && found.state !== "unsupported";
}

/**
 * What a claim has that a queue stands before: its ticket; or the caller's wish to go past whoever
 * waits. Without either it may claim only where nobody is queued.
 */
export type Passage =
  | { readonly kind: "ticket"; readonly ticket: bigint }
  | { readonly kind: "barge" };

/**
 * `open`: nobody is in the way. `queued`: others are. `passed over`: this ticket was granted, or one
 * after it, so it will never be.
 */
export function standing(
  queue: QueueState,
  passage: Passage | undefined,
): "open" | "queued" | "passed over" {
  if (passage === undefined) return queue.tail === queue.served ? "open" : "queued";
  if (passage.kind === "barge" || queue.served === undefined) return "open";
  return queue.served < passage.ticket ? "open" : "passed over";
}
