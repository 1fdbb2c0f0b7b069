import type { AcquireContext } from "../core/acquire/context.js";
import { isReadable } from "../core/record/record.js";
import type { OptionNames } from "../internal/option-names.js";
import type { Inspection } from "../locks/inspect.js";
import type { Item } from "../platform/table.js";
import {
  checkPrefix,
  type FoundPlace,
  type ListedEntry,
  listedEntry,
  type Page,
  placeIn,
  prefixesOf,
  RECORD_KINDS,
  type RecordKind,
  recordsOf,
  scanPage,
} from "./list.js";
import { listingOf, type SessionListing } from "./sessions.js";

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

/** Everything that one scan of a table shows. */
export interface Survey {
  /** Held and free, in the order of the table. */
  readonly locks: readonly SurveyedLock[];
  /** Places in the queues of fair locks. */
  readonly queued: readonly ListedEntry[];
  /** Sessions that are alive, or that a lock of the survey names. */
  readonly sessions: readonly SessionListing[];
  /** Records that this version cannot read, with the layout found. */
  readonly unreadable: readonly {
    readonly kind: RecordKind;
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
  // First the sessions: whether a lock appears expired depends on its session.
  const found = pages.flatMap(({ items }) => items.flatMap((item) => sessionIn(context, item)));
  const records = pages.flatMap((page) =>
    RECORD_KINDS.map((kind) => ({ kind, ...recordsOf(context, kind, page, true) })),
  );
  const places: FoundPlace[] = pages.flatMap(({ items }) =>
    items.flatMap((item) => placeIn(context, "lock", item) ?? []),
  );
  const locks = records.flatMap(({ kind, locks }) => locks.map((lock) => ({ kind, lock })));
  return {
    locks,
    queued: places.map((place) => listedEntry(context, place)),
    sessions: sessionsOf(context, found, locks),
    unreadable: records.flatMap(({ kind, unreadable }) =>
      unreadable.map((one) => ({ kind, ...one })),
    ),
    readUnits: unitsOf(pages),
  };
}

async function pagesOf(context: AcquireContext, prefix: string): Promise<Page[]> {
  const ofSessions = context.format.codec.prefixOf("session", "");
  const prefixes = [
    ...RECORD_KINDS.flatMap((kind) => prefixesOf(context, kind, prefix)),
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
): SessionListing[] {
  const names = new Map<string, string[]>();
  for (const { lock } of locks) {
    if (lock.session === undefined) continue;
    const known = names.get(lock.session);
    if (known === undefined) names.set(lock.session, [lock.name]);
    else known.push(lock.name);
  }
  const listed = found
    .filter((one) => !isReadable(one.found) || one.found.state === "held" || names.has(one.id))
    .map((one) => listingOf(context, one.id, one.found, names.get(one.id) ?? []));
  const known = new Set(found.map(({ id }) => id));
  const absent = [...names].filter(([id]) => !known.has(id));
  return [
    ...listed,
    ...absent.map(([id, held]) => listingOf(context, id, { state: "absent" }, held)),
  ];
}

function unitsOf(pages: readonly Page[]): number | undefined {
  const known = pages.flatMap(({ readUnits }) => readUnits ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, units) => sum + units, 0);
}
