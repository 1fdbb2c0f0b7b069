import type { Duration } from "../../internal/duration.js";
import type { Condition, Item, Query, Write } from "../../platform/table.js";
import type { CompositeName, LockFormat, LockName } from "./format-types.js";
import type { ForcedRelease, Found, GrantNote, Passage, Version } from "./record.js";

/** What a record is for. Records of different kinds never meet, whatever their names. */
export type Kind = "lock" | "leader" | "once" | "session";

/** Which record a lease is about. */
export interface RecordRef {
  readonly kind: Kind;
  /** The name, as messages say it. */
  readonly name: string;
  /** The same in its two parts, where it has two. */
  readonly parts?: CompositeName;
  readonly key: Item;
  /** The key as one string, to find what this process knows of the record. */
  readonly id: string;
  /** Which of several locks of the name; undefined for the one that a mutex has too. */
  readonly namespace?: string | undefined;
  /** An entry of a queue: it is deleted where a lock's record is freed. */
  readonly isEntry?: boolean;
}

/** What happens to the user data that a record already has when it is granted. */
export type ExistingData = "replace" | "keep";

/** Everything that a grant writes. */
export interface Grant {
  /** New and random with every grant. */
  readonly holder: string;
  readonly leaseMs: number;
  readonly owner: string;
  readonly data: unknown;
  readonly existingData: ExistingData;
  /** Further attributes to write, in a format that has room for them. */
  readonly attributes?: Item | undefined;
  /** What happens to those that the record already has. */
  readonly existingAttributes: ExistingData;
  /** The wall clock now, corrected by the table's where they are far apart. */
  readonly wallMs: number;
  /** The same instant as people write it. */
  readonly acquiredAt: string;
  /** Where the fence starts if the record is absent. */
  readonly fenceSeed: bigint;
  /** What lets it pass those who are queued before the record; left out: nobody may be. */
  readonly passage?: Passage | undefined;
}

/**
 * What a claim may be applied onto: `blind` takes any free or absent record, the others exactly what
 * was seen, so that a claim which lands late fails once the name has been used (R14).
 */
export type Onto =
  | { readonly kind: "blind" | "existing" }
  | { readonly kind: "absent" }
  | { readonly kind: "free"; readonly fence: bigint; readonly version: Version };

/** A lease as it was granted; what each of its writes is conditional on (R7). */
export interface Held {
  readonly holder: string;
  readonly fence: bigint;
  /** The number that a {@link FenceCounter} gave it, of which its record says nothing. */
  readonly number?: bigint | undefined;
}

/** A held record as somebody else saw it: what may be done to it only while it looks like that. */
export interface Watched {
  readonly holder: string;
  readonly version: Version;
  /** The session that it named; undefined if it named none. */
  readonly session?: string | undefined;
}

/** What a renewal writes. */
export interface Renewal {
  /** New with every renewal, so that it can recognise itself (R5). */
  readonly mark: string;
  /** The version last known: a record that was deleted and made anew has a lower one, or another. */
  readonly version: Version;
  /** The lease's length, for the TTL. */
  readonly leaseMs: number;
  readonly wallMs: number;
  /** User data to write with it, with its number. */
  readonly data?: NumberedData | undefined;
}

/** A write of user data: 1, 2, ... per lease, so that a late one cannot undo a newer one. */
export interface NumberedData {
  readonly value: unknown;
  readonly seq: number;
}

/** Which holders a write that frees or passes on a record accepts. */
export interface Holders {
  /** The last holder of which an answer told, with its fence. */
  readonly known?: Held | undefined;
  /** Holders of writes that were never answered. Each id is in one write only, so it is enough. */
  readonly maybe?: readonly string[] | undefined;
  /** A dead holder that was being taken over, exactly as it was watched. */
  readonly watched?: Watched | undefined;
}

/** Lengths of time of a lease, and what is kept, where nobody asks for anything else. */
export interface LeaseDefaults {
  readonly lease: Duration;
  /** Which part of its lease, whatever that is, a holder renews after. */
  readonly renewsPerLease: number;
  /** In all, or beyond the watch of one lease. */
  readonly wait: Duration | { readonly beyondLease: Duration };
  readonly minPoll: Duration;
  readonly maxPoll: Duration;
  /** Left out: `"replace"`. */
  readonly existingData?: ExistingData;
  /** Left out: false. */
  readonly keepData?: boolean;
}

/** Numbers the grants of a format whose records cannot carry a number, in an item beside each record. */
export interface FenceCounter {
  /** Counts up by one, from `seed` where there is no number yet. */
  count(ref: RecordRef, seed: bigint): Write;
  /** The number in what {@link count} left; undefined for any other item. */
  numberIn(item: Item | undefined): bigint | undefined;
  /** That nobody has counted since this number: what is asked of which item. */
  isLast(ref: RecordRef, number: bigint): { readonly key: Item; readonly condition: Condition };
}

/**
 * How records look in a table: key shape, attributes, and the condition of each write. Pure: a format
 * sends nothing, reads no clock, and never decides.
 */
export interface LeaseFormat extends LockFormat {
  /** Whether its records carry a number that grows with every grant; left out: they do. */
  readonly isFenced?: false;
  /** What numbers its grants beside its records, where that was asked for. */
  readonly counter?: FenceCounter | undefined;
  /** Whether a holder can live by a session; left out: it can. */
  readonly hasSessions?: false;
  /** Whether a release may delete the record, so that nothing is left to tell who freed it. */
  readonly deletes?: true;
  /** What its table looks like; left out: as the native one does. */
  readonly schema?: {
    readonly keys: { readonly pk: string; readonly sk: string | null };
    /** What TTL has to look at; null: TTL must be off. */
    readonly ttlAttribute: string | null;
  };
  /** Which of DynamoDB's writes a holder sends, and who frees a record, by default; left out: UpdateItem. */
  readonly writes?: { readonly hold: readonly string[]; readonly free: readonly string[] };
  /** Its own lengths of time; left out: the native record's. */
  readonly defaults?: LeaseDefaults;
  /** The attributes that a waiter's poll has to bring. */
  readonly pollAttributes: readonly string[];
  /**
   * Throws `invalid-argument` for a name, or a kind, that the table has no key for. A namespace is for
   * formats that have {@link LeaseFormat.queue}.
   */
  refOf(kind: Kind, name: LockName, namespace?: string): RecordRef;
  /** The name in a key that {@link refOf} made; undefined for any other item. */
  nameOf(kind: Kind, item: Item): LockName | undefined;
  /** What every key of the kind begins with, in which attribute, for a scan; undefined if with nothing. */
  prefixOf(
    kind: Kind,
    namePrefix: string,
  ): { readonly attribute: string; readonly value: string } | undefined;
  /** The holder that a grant writes, from an id that is new; left out: that id alone. */
  holderOf?(owner: string, id: string): string;
  read(item: Item | undefined): Found;
  /** Throws `invalid-argument` for a value that the table could not keep. */
  checkData(value: unknown): void;
  /** Throws `invalid-argument` for attributes that a record cannot carry; left out: it carries none. */
  checkAttributes?(attributes: Item): void;

  claim(ref: RecordRef, grant: Grant, onto: Onto): Write;
  takeOver(ref: RecordRef, grant: Grant, watched: Watched): Write;
  handOver(ref: RecordRef, grant: Grant, from: Holders): Write;
  renew(ref: RecordRef, held: Held, renewal: Renewal): Write;
  changeLength(ref: RecordRef, held: Held, renewal: Renewal): Write;
  /** From now on the holder lives by this session, whose length `renewal.leaseMs` is. */
  moveToSession(ref: RecordRef, held: Held, renewal: Renewal, session: string): Write;
  /** Puts off the TTL of a record that is never renewed, because it lives by a session. */
  keepFromExpiring(ref: RecordRef, held: Held, options: KeptOptions): Write;
  /** Makes a record that is free and was never held, where there is none. */
  tombstone(ref: RecordRef, options: TombstoneOptions): Write;
  /**
   * Left out where data have no number to be recognised by: {@link changeLength} then writes them, which
   * names the exact version before it.
   */
  updateData?(ref: RecordRef, held: Held, data: NumberedData): Write;
  free(ref: RecordRef, from: Holders, options: FreeOptions): Write;
  /**
   * Asks a holder to give up, without touching what it lives by: neither holder, version, fence nor
   * length. It names the holder, whose id is in one grant only, so one that lands late asks nobody.
   * Left out by a format whose records have no room for it.
   */
  ask?(ref: RecordRef, holder: string, ask: Ask): Write;
  /** Asks a holder to end, and says who wants it, and why. Otherwise as {@link ask}. */
  force?(ref: RecordRef, forced: ForcedRelease): Write;
  /** Tells a session that a holder on it was asked: it is the session that is renewed, and so finds it. */
  notify?(session: RecordRef, holder: string): Write;
  /** That the record still has this holder and this fence, for the user's own transaction. */
  heldCondition(held: Held): Condition;
  /** Whether what frees a record needs an id of its own, so that nothing watched before it still fits. */
  readonly marksFree?: true;
  /** Whether a grant may be nobody's for a while, on its way from one process to another; left out: not. */
  readonly handsOn?: true;
  /** Left out by a format that has no room beside its records. */
  readonly history?: HistoryFormat | undefined;
  /** Left out by a format before whose records nobody can queue. */
  readonly queue?: QueueFormat | undefined;
}

/** How notes of grants look beside a record: in a fixed number of items, the newest in the oldest's place. */
export interface HistoryFormat {
  keysOf(ref: RecordRef): readonly Item[];
  note(ref: RecordRef, note: GrantNote, wallMs: number): Write;
  /** Undefined for what is none. */
  noteIn(item: Item | undefined): GrantNote | undefined;
}

/**
 * How a queue before a record looks in a table. An entry is a lease record at a key of its own, granted
 * and renewed as any; it is deleted, not freed.
 */
export interface QueueFormat {
  /** Takes the next ticket, `tail` of the record that it leaves, of a record that is there. */
  take(ref: RecordRef, options: { readonly wallMs: number }): Write;
  /**
   * Gives out this very ticket, if it is above every one before: of a record that is there, or of one
   * that it makes, free. For whoever takes one number in several queues.
   */
  raise(ref: RecordRef, ticket: bigint, options: RaiseOptions): Write;
  entryOf(ref: RecordRef, ticket: bigint): RecordRef;
  /** The ticket of an entry; undefined for any other item. */
  ticketIn(item: Item): bigint | undefined;
  namespaceIn(item: Item): string | undefined;
  /** The name of this kind in whose queue an entry stands; undefined for any other item. */
  nameIn(kind: Kind, entry: Item): string | undefined;
  /** Where the entries with tickets up to this one are, itself included. */
  upTo(ref: RecordRef, ticket: bigint): Pick<Query, "partition" | "sort">;
  /** Deletes it. */
  remove(entry: RecordRef, from: Holders): Write;
}

/** For how long a record that lives by a session is kept. */
export interface KeptOptions {
  readonly leaseMs: number;
  readonly wallMs: number;
}

/** What a record says that is made for the queue before it. */
export interface RaiseOptions {
  readonly fenceSeed: bigint;
  readonly wallMs: number;
}

/** What a tombstone says. */
export interface TombstoneOptions {
  readonly fence: bigint;
  readonly owner: string;
  readonly wallMs: number;
}

/** Who asks a holder to give up: somebody, or a candidate that is preferred to others. */
export type Ask = "resign" | "prefer";

/** How a record is freed. */
export interface FreeOptions {
  readonly keepData: boolean;
  /** User data to write in the place of those that are kept; only with `keepData`. Left out: they stay. */
  readonly lastData?: unknown;
  /** The id that the record will name as its last holder. */
  readonly lastHolder: string;
  readonly wallMs: number;
  /** With a forced release: what the record is to say of it. */
  readonly forced?: ForcedRelease | undefined;
  /** New with every write, where the format asks for it; else empty. */
  readonly mark: string;
}
