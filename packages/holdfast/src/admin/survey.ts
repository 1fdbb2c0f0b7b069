import type { AcquireContext } from "../core/acquire/context.js";
import { type GrantNote, isReadable } from "../core/record/record.js";
import { glanceAtSession } from "../core/remote-sessions.js";
import { Breaks } from "../internal/breaks.js";
import type { OptionNames } from "../internal/option-names.js";
import type { Inspection } from "../locks/inspect.js";
import type { PermitInspection, PermitKind } from "../locks/inspect-permits.js";
import { briefOf } from "../native/native-brief.js";
import { HISTORY } from "../native/native-history.js";
import { recordListing } from "../native/native-listing.js";
import { MEMBERS } from "../native/native-members.js";
import type { Item, KeyPrefix } from "../platform/table.js";
import { type AnyKind, PERMIT_KINDS, RECORD_KINDS, type RecordKind } from "./kinds.js";
import {
  checkPrefix,
  type FoundPlace,
  type ListedEntry,
  listedEntry,
  permitsOf,
  placeIn,
  prefixesOf,
  type Records,
  recordsOf,
  scanPages,
} from "./list.js";
import {
  type BySession,
  type FoundSession,
  onSession,
  type SessionListing,
  sessionListings,
} from "./sessions.js";

const QUEUED_KINDS: readonly AnyKind[] = ["lock", ...PERMIT_KINDS];

/** Selects the records of a survey. */
export interface SurveyOptions {
  /** Only names with this prefix, and all sessions. Does not make the scan cheaper. */
  readonly prefix?: string | undefined;
  /**
   * Leaves out user data but the memory of schedules, cuts texts other than names and ids of sessions to 200 characters, and
   * ends the scan when the survey has about 64 MB. Default false.
   */
  readonly brief?: boolean | undefined;
}

export const SURVEY_NAMES: OptionNames<SurveyOptions> = { prefix: true, brief: "flag" };

// About 250,000 records. One takes a few times as much memory as its texts.
const MOST_BYTES = 64_000_000;
const BYTES_OF_A_RECORD = 200;
// A client decodes a page in one turn of its event loop: a tenth of a second for the 4,000 records of a full page.
const PAGE_OF_A_BRIEF_SURVEY = 1_000;

/** A record of a survey, with its kind. */
export interface SurveyedLock {
  readonly kind: RecordKind;
  readonly lock: Inspection;
}

/** A semaphore or a read-write lock of a survey, with its kind. */
export interface SurveyedPermits {
  readonly kind: PermitKind;
  readonly lock: PermitInspection;
}

/** A grant of a leadership, from the notes of the election. */
export interface SurveyedTerm {
  /** The name of the election. */
  readonly name: string;
  /** The note: the fence of the term, the holder, its label, and when the term began. */
  readonly grant: GrantNote;
}

/** A member of a group that shares names, by its row. Its session tells whether it lives. */
export interface SurveyedMember {
  readonly group: string;
  readonly session: string;
  readonly owner: string;
  readonly weight: number;
  /** A digest of the names that the member knows. */
  readonly names: string;
  /** Whether the member stops, and takes no further names. */
  readonly isLeaving: boolean;
}

/** Everything that one scan of a table shows. */
export interface Survey {
  /** Held and free locks, in the order of the table. */
  readonly locks: readonly SurveyedLock[];
  /** Semaphores and read-write locks, in the order of the table. */
  readonly permits: readonly SurveyedPermits[];
  /** Places in the queues of fair locks, of semaphores and of read-write locks. */
  readonly queued: readonly ListedEntry[];
  /** Sessions that are alive, or that a lock or a permit of the survey names. */
  readonly sessions: readonly SessionListing[];
  /**
   * The last grants of leaderships, at most sixteen of each, in no order. Only candidates with the option `history` note
   * their grants, and a note may be lost.
   */
  readonly terms: readonly SurveyedTerm[];
  /** The members of assignments. */
  readonly members: readonly SurveyedMember[];
  /** Records that this version cannot read, with the layout found. */
  readonly unreadable: readonly {
    readonly kind: AnyKind;
    readonly name: string;
    readonly found: string;
  }[];
  /** The read units that DynamoDB charged, if reported. */
  readonly readUnits: number | undefined;
  /** Whether the scan reached the end of the table: always, without `brief`. */
  readonly isWhole: boolean;
}

/** Reads the whole table by one scan, page by page. Throws coded errors. */
export async function surveyOf(context: AcquireContext, options: SurveyOptions): Promise<Survey> {
  checkPrefix(options);
  const isBrief = options.brief === true;
  const mostItems = isBrief ? PAGE_OF_A_BRIEF_SURVEY : undefined;
  const prefixes = surveyPrefixes(context, options.prefix ?? "");
  const breaks = new Breaks(context.timers, () => context.nowMs());
  const collected = new Collection(context, isBrief);
  let readUnits: number | undefined;
  let isWhole = true;
  for await (const page of scanPages(context, prefixes, mostItems)) {
    if (page.readUnits !== undefined) readUnits = (readUnits ?? 0) + page.readUnits;
    for (const item of page.items) {
      collected.add(item, page.dateMs);
      if (breaks.isDue) await breaks.take();
    }
    isWhole = page.next === undefined;
    if (isBrief && collected.bytes > MOST_BYTES) break;
  }
  return { ...(await collected.end(breaks)), readUnits, isWhole };
}

function surveyPrefixes(context: AcquireContext, prefix: string): KeyPrefix[] {
  const ofSessions = recordListing(context.format).prefixOf("session", "");
  return [
    ...[...RECORD_KINDS, ...PERMIT_KINDS].flatMap((kind) => prefixesOf(context, kind, prefix)),
    ...(ofSessions === undefined ? [] : [ofSessions]),
  ];
}

type Unreadable = Survey["unreadable"][number];

/** What the pages of a scan have shown so far. */
class Collection {
  /** An estimate of the collected texts. */
  bytes = 0;
  readonly #context: AcquireContext;
  readonly #isBrief: boolean;
  readonly #locks: SurveyedLock[] = [];
  readonly #permits: SurveyedPermits[] = [];
  readonly #places: FoundPlace[] = [];
  readonly #sessions: FoundSession[] = [];
  readonly #terms: SurveyedTerm[] = [];
  readonly #members: SurveyedMember[] = [];
  readonly #unreadable: Unreadable[] = [];
  /** Whether a lock, a permit or a place appears expired depends on its session, which may come later in the scan. */
  readonly #onSession: (() => void)[] = [];

  constructor(context: AcquireContext, isBrief: boolean) {
    this.#context = context;
    this.#isBrief = isBrief;
  }

  add(whole: Item, dateMs: number | undefined): void {
    const context = this.#context;
    const item = this.#isBrief ? briefOf(context.format, whole) : whole;
    if (this.#isBrief) this.bytes += BYTES_OF_A_RECORD + textLength(item);
    const page = { items: [item], dateMs };
    this.#sessions.push(...sessionIn(context, item));
    this.#terms.push(...termIn(context, item));
    this.#members.push(...memberIn(context, item));
    for (const kind of RECORD_KINDS) {
      const read = () => recordsOf(context, kind, page, true);
      this.#add(this.#locks, kind, read, ({ session }) => session !== undefined);
    }
    for (const kind of PERMIT_KINDS) {
      const read = () => permitsOf(context, kind, page, true);
      this.#add(this.#permits, kind, read, ({ permits }) => permits.length > 0);
    }
    for (const kind of QUEUED_KINDS) this.#addPlace(kind, item);
  }

  #add<K extends AnyKind, I>(
    to: { readonly kind: K; readonly lock: I }[],
    kind: K,
    read: () => Records<I>,
    isOnSession: (lock: I) => boolean,
  ): void {
    const { locks, unreadable } = read();
    this.#unreadable.push(...unreadable.map((one) => ({ kind, ...one })));
    for (const lock of locks) {
      const at = to.push({ kind, lock }) - 1;
      if (!isOnSession(lock)) continue;
      this.#onSession.push(() => {
        for (const again of read().locks) to[at] = { kind, lock: again };
      });
    }
  }

  #addPlace(kind: AnyKind, item: Item): void {
    const place = placeIn(this.#context, kind, item);
    if (place === undefined) return;
    const at = this.#places.push(place) - 1;
    if (place.entry.session === undefined) return;
    this.#onSession.push(() => {
      this.#places[at] = placeIn(this.#context, kind, item) ?? place;
    });
  }

  /** Returns the survey after the last page. */
  async end(breaks: Breaks): Promise<Omit<Survey, "readUnits" | "isWhole">> {
    for (const readAgain of this.#onSession) {
      readAgain();
      if (breaks.isDue) await breaks.take();
    }
    const [locks, permits] = [this.#locks, this.#permits];
    return {
      ...{ locks, permits, terms: this.#terms, unreadable: this.#unreadable },
      members: this.#members,
      queued: this.#places.map((place) => listedEntry(this.#context, place)),
      sessions: sessionsOf(this.#context, this.#sessions, locks, permits),
    };
  }
}

/** The length of an item's texts and names. */
function textLength(item: Item): number {
  let length = 0;
  for (const [name, value] of Object.entries(item)) {
    length += name.length;
    if ("S" in value) length += value.S.length;
    else if ("M" in value) length += textLength(value.M);
  }
  return length;
}

function memberIn({ format }: AcquireContext, item: Item): SurveyedMember[] {
  const rows = MEMBERS.of(format);
  const row = rows?.rowIn(item);
  if (rows === undefined || row === undefined) return [];
  const { session, owner, weight, names, isLeaving } = row;
  return [{ group: rows.groupIn(item), session, owner, weight, names, isLeaving }];
}

// The notes lie beside the record, so the scan reads them in any case.
function termIn({ format }: AcquireContext, item: Item): SurveyedTerm[] {
  const history = HISTORY.of(format);
  const [name, grant] = [history?.leadershipIn(item), history?.noteIn(item)];
  return name === undefined || grant === undefined ? [] : [{ name, grant }];
}

function sessionIn(context: AcquireContext, item: Item): FoundSession[] {
  const id = recordListing(context.format).nameOf("session", item);
  if (typeof id !== "string") return [];
  return [{ id, found: glanceAtSession(context, id, item) }];
}

function sessionsOf(
  context: AcquireContext,
  found: readonly FoundSession[],
  locks: readonly SurveyedLock[],
  permits: readonly SurveyedPermits[],
): SessionListing[] {
  const named: BySession = new Map();
  for (const { lock } of locks) {
    if (lock.session !== undefined) onSession(named, lock.session).locks.push(lock.name);
  }
  for (const { kind, lock } of permits) {
    for (const { session, holder, weight } of lock.permits) {
      onSession(named, session).permits.push({ kind, name: lock.name, holder, weight });
    }
  }
  const listed = found.filter(
    (one) => !isReadable(one.found) || one.found.state === "held" || named.has(one.id),
  );
  return sessionListings(context, listed, named);
}
