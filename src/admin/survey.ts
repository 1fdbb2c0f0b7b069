import type { AcquireContext } from "../core/acquire/context.js";
import { type GrantNote, isReadable } from "../core/record/record.js";
import type { OptionNames } from "../internal/option-names.js";
import type { Inspection } from "../locks/inspect.js";
import type { PermitInspection, PermitKind } from "../locks/inspect-permits.js";
import type { Item } from "../platform/table.js";
import type { AnyKind, RecordKind } from "./kinds.js";
import {
  checkPrefix,
  type FoundPlace,
  type ListedEntry,
  listedEntry,
  type Page,
  permitsOf,
  placeIn,
  prefixesOf,
  recordsOf,
  scanPage,
} from "./list.js";
import { listingOf, NOTHING, type OnSession, type SessionListing } from "./sessions.js";

const RECORD_KINDS: readonly RecordKind[] = ["lock", "leader", "once"];
const PERMIT_KINDS: readonly PermitKind[] = ["semaphore", "read-write"];
const QUEUED_KINDS: readonly AnyKind[] = ["lock", ...PERMIT_KINDS];

/** Selects the records of a survey. */
export interface SurveyOptions {
  /** Only names with this prefix, and all sessions. Does not make the scan cheaper. */
  readonly prefix?: string | undefined;
}

export const SURVEY_NAMES: OptionNames<SurveyOptions> = { prefix: true };

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
  /** Records that this version cannot read, with the layout found. */
  readonly unreadable: readonly {
    readonly kind: AnyKind;
    readonly name: string;
    readonly found: string;
  }[];
  /** The read units that DynamoDB charged, if reported. */
  readonly readUnits: number | undefined;
}

/** Reads the whole table by one scan. Throws coded errors. */
export async function survey(context: AcquireContext, options: SurveyOptions): Promise<Survey> {
  checkPrefix(options);
  const pages = await pagesOf(context, options.prefix ?? "");
  // Notes the sessions first, because whether a lock appears expired depends on its session.
  const found = pages.flatMap(({ items }) => items.flatMap((item) => sessionIn(context, item)));
  const records = pages.flatMap((page) =>
    RECORD_KINDS.map((kind) => ({ kind, ...recordsOf(context, kind, page, true) })),
  );
  const shared = pages.flatMap((page) =>
    PERMIT_KINDS.map((kind) => ({ kind, ...permitsOf(context, kind, page, true) })),
  );
  const places: FoundPlace[] = pages.flatMap(({ items }) =>
    items.flatMap((item) => QUEUED_KINDS.flatMap((kind) => placeIn(context, kind, item) ?? [])),
  );
  const locks = records.flatMap(({ kind, locks }) => locks.map((lock) => ({ kind, lock })));
  const permits = shared.flatMap(({ kind, locks }) => locks.map((lock) => ({ kind, lock })));
  return {
    locks,
    permits,
    queued: places.map((place) => listedEntry(context, place)),
    sessions: sessionsOf(context, found, locks, permits),
    terms: pages.flatMap(({ items }) => items.flatMap((item) => termIn(context, item))),
    unreadable: [...records, ...shared].flatMap(({ kind, unreadable }) =>
      unreadable.map((one) => ({ kind, ...one })),
    ),
    readUnits: unitsOf(pages),
  };
}

async function pagesOf(context: AcquireContext, prefix: string): Promise<Page[]> {
  const ofSessions = context.format.codec.prefixOf("session", "");
  const prefixes = [
    ...[...RECORD_KINDS, ...PERMIT_KINDS].flatMap((kind) => prefixesOf(context, kind, prefix)),
    ...(ofSessions === undefined ? [] : [ofSessions]),
  ];
  const pages: Page[] = [];
  let after: Item | undefined;
  do {
    const page = await scanPage(context, prefixes, after);
    pages.push(page);
    after = page.next;
  } while (after !== undefined);
  return pages;
}

// The notes lie beside the record, so the scan reads them in any case.
function termIn({ format: { history } }: AcquireContext, item: Item): SurveyedTerm[] {
  const [name, grant] = [history?.leadershipIn(item), history?.noteIn(item)];
  return name === undefined || grant === undefined ? [] : [{ name, grant }];
}

interface FoundSession {
  readonly id: string;
  readonly found: ReturnType<AcquireContext["sessions"]["glance"]>;
}

function sessionIn(context: AcquireContext, item: Item): FoundSession[] {
  const id = context.format.codec.nameOf("session", item);
  if (typeof id !== "string") return [];
  return [{ id, found: context.sessions.glance(id, item) }];
}

function sessionsOf(
  context: AcquireContext,
  found: readonly FoundSession[],
  locks: readonly SurveyedLock[],
  permits: readonly SurveyedPermits[],
): SessionListing[] {
  const named = new Map<string, OnSession>();
  const on = (session: string): OnSession => {
    const known = named.get(session) ?? { locks: [], permits: [] };
    named.set(session, known);
    return known;
  };
  for (const { lock } of locks) {
    if (lock.session !== undefined) on(lock.session).locks.push(lock.name);
  }
  for (const { kind, lock } of permits) {
    for (const { session, holder, weight } of lock.permits) {
      on(session).permits.push({ kind, name: lock.name, holder, weight });
    }
  }
  const listed = found
    .filter((one) => !isReadable(one.found) || one.found.state === "held" || named.has(one.id))
    .map((one) => listingOf(context, one.id, one.found, named.get(one.id) ?? NOTHING));
  const known = new Set(found.map(({ id }) => id));
  const absent = [...named].filter(([id]) => !known.has(id));
  return [
    ...listed,
    ...absent.map(([id, held]) => listingOf(context, id, { state: "absent" }, held)),
  ];
}

function unitsOf(pages: readonly Page[]): number | undefined {
  const known = pages.flatMap(({ readUnits }) => readUnits ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, units) => sum + units, 0);
}
