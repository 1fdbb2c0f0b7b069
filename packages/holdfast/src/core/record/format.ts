import type { Change, Condition, Item, KeyPrefix, Query, Write } from "../../platform/table.js";
import type { ExistingData, FormatFacts } from "./format-facts.js";
import type { LockFormat, LockName } from "./format-types.js";
import type { Asked, Found, GrantNote, HolderRequest, Passage, Version } from "./record.js";
import type { FreeOptions, Held, Holders, Kind, RecordRef, Watched } from "./ref.js";
import type { Sighting } from "./sighting.js";

export type { FreeOptions, Held, Holders, Kind, RecordRef, Watched } from "./ref.js";

/** The values that a grant writes. */
export interface Grant {
  /** Random, and new with every grant. */
  readonly holder: string;
  readonly leaseMs: number;
  readonly owner: string;
  readonly data: unknown;
  readonly existingData: ExistingData;
  /** Further attributes to write, in a format that supports attributes; in a native record, those of {@link RunWrites}. */
  readonly attributes?: Change["set"] | undefined;
  /** Whether attributes already in the record are kept. */
  readonly existingAttributes: ExistingData;
  /** The wall clock now, corrected by the table's clock if the two are far apart. */
  readonly wallMs: number;
  /** The same instant as ISO text. */
  readonly acquiredAt: string;
  /** The end of the lease in the table's time, in milliseconds since 1970. Undefined if that time is not known. */
  readonly endMs?: number | undefined;
  /** The first fence if the record is absent. */
  readonly fenceSeed: bigint;
  /** The right of this claim to pass a queue; without a passage the claim requires an empty queue. */
  readonly passage?: Passage | undefined;
  /** By which waiters can be rung by this holder: see {@link HeldRecord.ring}. */
  readonly ring?: string | undefined;
  /** The fences that the grant reserves. Undefined: one. */
  readonly block?: FenceBlock | undefined;
}

/** Fences for the uses of one grant: the record shows the highest of them from the grant on. */
export interface FenceBlock {
  readonly count: number;
  /** A claim requires a record whose fence is lower: fences must not run away from the clock that a new record begins with. */
  readonly below: bigint;
}

/**
 * The condition of a claim. `blind` takes any free or absent record, `existing` any free one. The other kinds
 * require exactly the observed record, so a late claim fails once the name has been used (R14).
 */
export type Onto =
  | { readonly kind: "blind" | "existing" }
  | { readonly kind: "absent" }
  | { readonly kind: "free"; readonly fence: bigint; readonly version: Version };

/** The values that a renewal writes. */
export interface Renewal {
  /** New with every renewal, so that a repeated write recognises its own effect (R5). */
  readonly mark: string;
  /** The last known version: a record that was deleted and created again has a lower or a different version. */
  readonly version: Version;
  /** The length of the lease, for the TTL. */
  readonly leaseMs: number;
  /** As in {@link Grant}. Never lower than an earlier end of the same grant. */
  readonly endMs?: number | undefined;
  readonly wallMs: number;
  /** User data to write in the same request, with their number. */
  readonly data?: NumberedData | undefined;
}

/** A write of user data, numbered 1, 2, ... per lease, so that a late write cannot undo a newer one. */
export interface NumberedData {
  readonly value: unknown;
  readonly seq: number;
}

/**
 * A step of an acquisition that only some formats need, of `core/acquire`. The format has it as a member, so that a program
 * carries its code only with such a format.
 */
type AcquireStep = (...given: never[]) => Promise<unknown>;

/** Numbers grants in an item beside each record, for formats whose records have no fence. */
export interface FenceCounter {
  /** `assignFence`. */
  readonly assign: AcquireStep;
  /** Increments the counter. A new counter starts from `seed`. */
  count(ref: RecordRef, seed: bigint): Write;
  /** Returns the number in an item that {@link count} wrote, or undefined if the item is another. */
  numberIn(item: Item | undefined): bigint | undefined;
  /** Returns the check that this number is the last of the counter: an item's key and a condition. */
  isLast(ref: RecordRef, number: bigint): { readonly key: Item; readonly condition: Condition };
}

/**
 * Describes how records look in a table: key shape, attributes, and the condition of each write. A format is
 * pure: no requests, no clock, no decisions.
 *
 * Every format has {@link facts}, {@link codec} and {@link lease}. The other members are capabilities that every program
 * needs, if the format has them. The rest of what only some formats can do is not here: see `Capability`.
 */
export interface LeaseFormat extends LockFormat {
  readonly facts: FormatFacts;
  readonly codec: RecordCodec;
  readonly lease: LeaseWrites;
  /** Stores fences in items beside the records. Present if the user enabled fences. */
  readonly fenceCounter?: FenceCounter | undefined;
  /** Stores sightings of held records in items beside them. Present if the user enabled sightings. */
  readonly sightings?: SightingFormat | undefined;
  /** Waiters can queue before a record. */
  readonly queue?: QueueFormat | undefined;
  /** A record carries further attributes for its users. */
  readonly attributes?: AttributeCheck | undefined;
}

/** Finds records in the items of a scan. */
export interface RecordListing {
  /** Returns the name in a key of {@link RecordCodec.refOf}, or undefined if the item has another key. */
  nameOf(kind: Kind, item: Item): LockName | undefined;
  /** Returns the prefix of every key of the kind, or undefined if the keys share no prefix. */
  prefixOf(kind: Kind, namePrefix: string): KeyPrefix | undefined;
}

/** Translates between records and items: keys, names, user data. */
export interface RecordCodec {
  /** The attributes that a waiter's poll must read. */
  readonly pollAttributes: readonly string[];
  /**
   * Returns the record of a name. A namespace requires {@link LeaseFormat.queue}. Throws `invalid-argument` for
   * a name or a kind that has no key in the table.
   */
  refOf(kind: Kind, name: LockName, namespace?: string): RecordRef;
  /** Finds records in a scan. Undefined in the native format: see `recordListing`. */
  readonly listing?: RecordListing;
  /** Returns the holder that a grant writes, from a new id. */
  holderOf(owner: string, id: string): string;
  /** Reads a record; with `ref` of a permit, that permit: held, or free if the record does not have the permit. */
  read(item: Item | undefined, ref?: RecordRef): Found;
  /** Throws `invalid-argument` for a value that the table cannot store. */
  checkData(value: unknown): void;
}

/** Composes the writes of a lease, from grant to release. */
export interface LeaseWrites {
  claim(ref: RecordRef, grant: Grant, onto: Onto): Write;
  takeOver(ref: RecordRef, grant: Grant, watched: Watched): Write;
  /** Grants the record of these holders. A record with a queue requires a passage. */
  handOver(ref: RecordRef, grant: Grant, from: Holders): Write;
  renew(ref: RecordRef, held: Held, renewal: Renewal): Write;
  changeLength(ref: RecordRef, held: Held, renewal: Renewal): Write;
  /**
   * Writes user data under their number. Undefined if the format has no such numbers: {@link changeLength} then
   * writes the data, on condition of the exact version before.
   */
  updateData?(ref: RecordRef, held: Held, data: NumberedData): Write;
  free(ref: RecordRef, from: Holders, options: FreeOptions): Write;
  /** A condition for the user's own transaction: the record still has this holder and this fence. */
  heldCondition(held: Held, ref: RecordRef): Condition;
  /** Ends a session without a record: creates a free record. Undefined in a format whose records name no session. */
  tombstone?(ref: RecordRef, options: TombstoneOptions): Write;
}

/** Composes the writes of leases that a session keeps alive. */
export interface SessionWrites {
  /**
   * Moves the holder to a session: from now on the session keeps the holder alive. `renewal.leaseMs` is the
   * session's length.
   */
  moveTo(ref: RecordRef, held: Held, renewal: Renewal, session: string): Write;
  /** Extends the TTL of a record that has no renewals, because a session keeps the lease alive. */
  keepFromExpiring(ref: RecordRef, held: Held, options: KeptOptions): Write;
}

/** Composes the writes that ask a holder to release. */
export interface RequestWrites {
  /**
   * Asks a holder to release. The write does not change what waiters use to decide whether the holder is dead:
   * holder, version, fence and length. The write's condition names the holder, whose id is in one grant only, so a
   * late write does not reach a later holder. DynamoDB refuses the write after a stronger request to the same holder, and
   * after an asker with a number as high as `asked`.
   */
  ask(ref: RecordRef, request: HolderRequest, asked?: Asked): Write;
  /** Notifies the session of a holder with a request. The client finds the note when it renews the session. */
  notify(session: RecordRef, holder: string): Write;
  /** Removes such a notification. */
  settle(session: RecordRef, holder: string): Write;
}

/** Composes the writes of a work whose calls are coalesced. */
export interface RunWrites {
  /**
   * Returns the further attributes of a grant, which counts as a call, too. `completed`: what the run before covered,
   * if the grant follows it without a release.
   */
  granted(wallMs: number, completed?: bigint): Change["set"];
  /** Counts a call, while the record has this holder. May be applied twice: a call more does no harm. */
  raise(ref: RecordRef, held: Held, wallMs: number): Write;
  /** Frees the record after a run that covers `covered`, unless there was a call since. */
  settle(ref: RecordRef, held: Held, covered: bigint, options: FreeOptions): Write;
}

/** Composes the write that transfers a lock. */
export interface TransferWrites {
  /** Grants the record to a future holder, the process that will import the lock. */
  reserve(ref: RecordRef, grant: Grant, from: Holders): Write;
}

/** Checks the further attributes of a record. */
export interface AttributeCheck {
  /** Throws `invalid-argument` for attributes that a record cannot store. */
  check(attributes: Change["set"]): void;
}

/** Describes the notes of grants beside a record: a fixed number of items; the newest note replaces the oldest. */
export interface HistoryFormat {
  keysOf(ref: RecordRef): readonly Item[];
  note(ref: RecordRef, note: GrantNote, wallMs: number): Write;
  /** Returns the name of the leadership whose note an item of a scan is, or undefined for another item. */
  leadershipIn(item: Item): string | undefined;
  /** Returns the note in an item, or undefined if the item is not a note. */
  noteIn(item: Item | undefined): GrantNote | undefined;
}

/** Describes the note of a sighting beside a record: one item, for a record without an end of the lease. */
export interface SightingFormat {
  /** `noteSighting`. */
  readonly leave: AcquireStep;
  /**
   * Notes a sighting in place of an earlier note. Refused, with the note found, if that note is of the same holder,
   * version and length, and not later.
   */
  note(ref: RecordRef, sighting: Sighting): Write;
  /** Returns the note in an item, or undefined if the item is not a note. */
  noteIn(item: Item | undefined): Sighting | undefined;
}

/**
 * Describes the queue before a record. An entry is a lease record with a key of its own: granted and renewed as
 * any lease, but deleted at its release.
 */
export interface QueueFormat {
  /** Takes the next `count` tickets from an existing record; `tail` of the written record is the last of them. */
  take(ref: RecordRef, count: number, options: { readonly wallMs: number }): Write;
  /**
   * Takes this exact ticket, if the ticket is above every earlier one. Creates a free record if the record is
   * absent. For a waiter with the same ticket in several queues.
   */
  raise(ref: RecordRef, ticket: bigint, options: RaiseOptions): Write;
  entryOf(ref: RecordRef, ticket: bigint): RecordRef;
  /** Returns the ticket of an entry, or undefined if the item is not an entry. */
  ticketIn(item: Item): bigint | undefined;
  /** The range of the entries up to and including this ticket. */
  upTo(ref: RecordRef, ticket: bigint): Pick<Query, "partition" | "sort">;
  /** Deletes the entry. */
  remove(entry: RecordRef, from: Holders): Write;
}

/** How long to keep a record that a session keeps alive. */
interface KeptOptions {
  readonly leaseMs: number;
  readonly wallMs: number;
}

/** The values of a record created for the queue before it. */
interface RaiseOptions {
  readonly fenceSeed: bigint;
  readonly wallMs: number;
}

/** The values of a tombstone. */
interface TombstoneOptions {
  readonly fence: bigint;
  readonly owner: string;
  readonly wallMs: number;
}
