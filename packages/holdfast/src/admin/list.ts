import type { AcquireContext } from "../core/acquire/context.js";
import { requireCapability } from "../core/record/capability.js";
import type { RecordRef } from "../core/record/format.js";
import type { FormatTypes, LockName, NativeTypes } from "../core/record/format-types.js";
import { isReadable } from "../core/record/record.js";
import { HoldfastError } from "../errors.js";
import { noAnswerText } from "../internal/cause-text.js";
import { checkNames, type OptionNames, refuse } from "../internal/option-names.js";
import { serialisable } from "../internal/printed.js";
import { type Inspection, inspectionOf } from "../locks/inspect.js";
import { listedPermits, type PermitInspection, type PermitKind } from "../locks/inspect-permits.js";
import { queueListing, recordListing } from "../native/native-listing.js";
import { PERMITS } from "../native/native-permits.js";
import type { NoAnswer } from "../platform/retry.js";
import type { Item, KeyPrefix, ScanAnswer } from "../platform/table.js";
import { fewTries } from "./few-tries.js";
import { type AnyKind, isPermitKind, kindOf, type RecordKind } from "./kinds.js";
import type { QueuedWaiter } from "./queue.js";

/** Selects the locks to list. */
export interface ListOptions {
  /**
   * `leader` for the leaderships of elections, `once` for the tasks of `once()`. Default `lock`. A listing has a
   * single kind.
   */
  readonly kind?: RecordKind | undefined;
  /** Only names with this prefix. Does not make the scan cheaper. */
  readonly prefix?: string | undefined;
  /** Include locks without a holder. Default false. */
  readonly free?: boolean | undefined;
}

/** Selects the semaphores, or the read-write locks, to list. */
export interface ListPermitOptions extends Omit<ListOptions, "kind"> {
  readonly kind: PermitKind;
}

const LIST_NAMES: OptionNames<ListOptions> = { kind: true, prefix: true, free: "flag" };
const LIST_PERMIT_NAMES: OptionNames<ListPermitOptions> = LIST_NAMES;

/** A place in the queue of a fair lock, a semaphore or a read-write lock, as read by a scan. */
export interface ListedEntry extends Omit<QueuedWaiter, "position" | "calls"> {
  /** The kind of the record for which the waiter waits. */
  readonly kind: AnyKind;
  /** The name of that record. */
  readonly name: string;
  readonly namespace: string | undefined;
  /** Whether this or a later ticket was granted. A live waiter removes such a place, so only a dead waiter leaves one. */
  readonly isServed: boolean;
  /** Milliseconds until the place counts as dead at the earliest, if the waiter stays silent. */
  readonly acquirableInMs: number;
}

/** One page of a listing. */
export interface ListPage<S extends FormatTypes = NativeTypes, I = Inspection<S>> {
  readonly locks: readonly I[];
  /** Names of records that this version cannot read, with the layout found; never taken over. */
  readonly unreadable: readonly { readonly name: string; readonly found: string }[];
  /**
   * The places in the queues of the listed kind, also in the queues of free locks, in the order of the table. The last
   * page has all places; the other pages have none.
   */
  readonly queued: readonly ListedEntry[];
  /** The read units that DynamoDB charged for this page, if reported. */
  readonly readUnits: number | undefined;
}

/** One page of a listing of semaphores or of read-write locks. */
export type PermitListPage = ListPage<NativeTypes, PermitInspection>;

type Unreadable = ListPage["unreadable"][number];
export type Records<I> = Pick<ListPage<NativeTypes, I>, "locks" | "unreadable">;

/** A page of a scan, as answered. */
type Page = Extract<ScanAnswer, { readonly kind: "page" }>;

/** Lists the locks of the table by a scan. */
export async function* pagesOf(
  context: AcquireContext,
  options: ListOptions,
): AsyncGenerator<ListPage> {
  const kind = kindOf(checkNames("listLocks()", options, LIST_NAMES));
  yield* scanned(context, kind, options, (page) =>
    recordsOf(context, kind, page, options.free ?? false),
  );
}

/** Lists the semaphores, or the read-write locks, of the table by a scan. */
export async function* permitPagesOf(
  context: AcquireContext,
  options: ListPermitOptions,
): AsyncGenerator<PermitListPage> {
  const { kind, free = false } = checkNames("listLocks()", options, LIST_PERMIT_NAMES);
  requireCapability(context.format, PERMITS);
  yield* scanned(context, kind, options, (page) => permitsOf(context, kind, page, free));
}

async function* scanned<I>(
  context: AcquireContext,
  kind: AnyKind,
  options: Pick<ListOptions, "prefix">,
  readPage: (page: Page) => Records<I>,
): AsyncGenerator<ListPage<NativeTypes, I>> {
  checkPrefix(options);
  // Throws if the format has no tasks of `once`: only native records have them.
  if (kind === "once") context.format.codec.refOf(kind, "any");
  const prefixes = prefixesOf(context, kind, options.prefix ?? "");
  const places: FoundPlace[] = [];
  for await (const page of scanPages(context, prefixes)) {
    const records = readPage(page);
    places.push(...page.items.flatMap((item) => placeIn(context, kind, item) ?? []));
    const isLast = page.next === undefined;
    // Only the whole scan shows which tickets were granted: a record may come after the places in its queue.
    const queued = isLast ? places.map((place) => listedEntry(context, place)) : [];
    yield { ...records, queued, readUnits: page.readUnits };
  }
}

/** Returns the key prefixes of the listed records, and of the places in their queues. */
export function prefixesOf(
  { format }: AcquireContext,
  kind: AnyKind,
  namePrefix: string,
): KeyPrefix[] {
  const queue = queueListing(format);
  const ofRecords = recordListing(format).prefixOf(kind, namePrefix);
  if (ofRecords === undefined) return [];
  return (kind === "lock" || isPermitKind(kind)) && queue !== undefined
    ? [ofRecords, queue.prefixOf(namePrefix)]
    : [ofRecords];
}

/** Reads the pages of a scan, with retries. Throws coded errors. */
export async function* scanPages(
  context: AcquireContext,
  prefixes: readonly KeyPrefix[],
  mostItems?: number,
): AsyncGenerator<Page> {
  const { requestTimeoutMs: timeoutMs } = context.settings;
  const limit = mostItems === undefined ? {} : { mostItems };
  let after: Item | undefined;
  do {
    const page = await fewTries(
      context,
      () => context.table.scan({ prefixes, after, ...limit }, { timeoutMs }),
      (answer) => notListed(context.tableName, answer),
    );
    yield page;
    after = page.next;
  } while (after !== undefined);
}

function notListed(table: string, answer: NoAnswer): HoldfastError {
  const { kind, cause } = answer;
  const isSilent = kind === "unknown" || kind === "skewed";
  return new HoldfastError(
    isSilent ? "unreachable" : "throttled",
    `The locks of table "${table}" could not be listed: ` +
      (isSilent
        ? `the table does not answer${noAnswerText(answer)}. Check the endpoint, the region and the network.`
        : "DynamoDB throttled every request. Give the table more capacity, or list again later."),
    { cause },
  );
}

export function checkPrefix({ prefix }: Pick<ListOptions, "prefix">): void {
  if (prefix === undefined || typeof prefix === "string") return;
  throw refuse(`The option \`prefix\` must be a string; it is a ${typeof prefix}.`);
}

export function recordsOf(
  context: AcquireContext,
  kind: RecordKind,
  { items, dateMs }: Pick<Page, "items" | "dateMs">,
  withFree: boolean,
): Records<Inspection> {
  return readRecords<Inspection>(context, kind, items, withFree, (name, item) => {
    const namespace = queueListing(context.format)?.namespaceIn(item);
    const ref = context.format.codec.refOf(kind, name, namespace);
    const found = context.see(ref, { item }, "eventual");
    return isReadable(found)
      ? inspectionOf(context, ref, found, dateMs)
      : { name: ref.name, found: found.found };
  });
}

/** Reads the semaphores or read-write locks of a page. */
export function permitsOf(
  context: AcquireContext,
  kind: PermitKind,
  { items, dateMs }: Pick<Page, "items" | "dateMs">,
  withFree: boolean,
): Records<PermitInspection> {
  return readRecords(context, kind, items, withFree, (name, item) => {
    const ref = requireCapability(context.format, PERMITS).refOf(kind, name as string);
    return listedPermits(context, ref, { item, dateMs });
  });
}

function readRecords<I extends Pick<Inspection, "state">>(
  { format }: AcquireContext,
  kind: AnyKind,
  items: Page["items"],
  withFree: boolean,
  read: (name: LockName, item: Item) => I | Unreadable,
): Records<I> {
  const locks: I[] = [];
  const unreadable: Unreadable[] = [];
  for (const item of items) {
    const name = recordListing(format).nameOf(kind, item);
    const one = name === undefined ? undefined : read(name, item);
    if (one === undefined) continue;
    if ("found" in one) unreadable.push(one);
    else if (withFree || one.state === "held") locks.push(one);
  }
  return { locks, unreadable };
}

/** A place in the queue of a lock, as read. */
export interface FoundPlace {
  readonly lock: RecordRef;
  readonly entry: Omit<ListedEntry, "isServed">;
}

/** Reads an item as a place; undefined if the item is not a place with a waiter. */
export function placeIn(
  context: AcquireContext,
  kind: AnyKind,
  item: Item,
): FoundPlace | undefined {
  const { queue } = context.format;
  const listing = queueListing(context.format);
  const [name, ticket] = [listing?.nameIn(item, kind), queue?.ticketIn(item)];
  if (queue === undefined || name === undefined || ticket === undefined) return undefined;
  const lock = context.format.codec.refOf(kind, name, listing?.namespaceIn(item));
  const ref = queue.entryOf(lock, ticket);
  const found = context.see(ref, { item }, "eventual");
  if (found.state !== "held") return undefined;
  const { owner, acquiredAt, session, leaseMs, appearsExpired, acquirableInMs } = inspectionOf(
    context,
    ref,
    found,
  );
  const { namespace } = lock;
  const whose = { kind, name, namespace, ticket, owner, since: acquiredAt, session };
  return { lock, entry: { ...whose, leaseMs: leaseMs ?? 0, appearsExpired, acquirableInMs } };
}

export function listedEntry(context: AcquireContext, { lock, entry }: FoundPlace): ListedEntry {
  return serialisable({
    ...entry,
    isServed: entry.ticket <= (context.observations.known(lock.id)?.queue.served ?? -1n),
  });
}
