import type { AcquireContext } from "../core/acquire/context.js";
import { rising } from "../core/backoff.js";
import type { LeaseFormat, RecordRef } from "../core/record/format.js";
import type { FormatTypes, LockName, NativeTypes } from "../core/record/format-types.js";
import { queueRefOf, refOf } from "../core/record/key.js";
import { isReadable } from "../core/record/record.js";
import { HoldfastError } from "../errors.js";
import { noAnswerText } from "../internal/cause-text.js";
import { checkNames, type OptionNames } from "../internal/option-names.js";
import { type Inspection, inspectionOf } from "../locks/inspect.js";
import { type NoAnswer, retry } from "../platform/retry.js";
import type { Item, KeyPrefix, ScanAnswer } from "../platform/table.js";

/** The kinds of records that someone can be asked to release: locks, and leaderships of elections. */
export type HolderKind = "lock" | "leader";

/** The kinds of records with a name: also the tasks of `once`. */
export type RecordKind = HolderKind | "once";

/** Options of `Holdfast.inspect`. */
export interface InspectOptions {
  /**
   * `leader` for the leadership of an election, `once` for a task of `Holdfast.once`: its `data` has the last occurrence,
   * and whether that has `ended`. Default `lock`.
   */
  readonly kind?: RecordKind | undefined;
  /** The namespace of a fair lock. Default: none, for the lock of `mutex(name)`. */
  readonly namespace?: string | undefined;
}

export const INSPECT_NAMES: OptionNames<InspectOptions> = { kind: true, namespace: true };

/** Selects the locks to list. */
export interface ListOptions {
  /**
   * `leader` for the leaderships of elections, `once` for the tasks of `Holdfast.once`. Default `lock`. A listing has a
   * single kind.
   */
  readonly kind?: RecordKind | undefined;
  /** Only names with this prefix. Does not make the scan cheaper. */
  readonly prefix?: string | undefined;
  /** Include locks without a holder. Default false. */
  readonly free?: boolean | undefined;
}

const LIST_NAMES: OptionNames<ListOptions> = { kind: true, prefix: true, free: true };

/** A place in the queue of a fair lock, as read by a scan. */
export interface ListedEntry {
  /** The lock's name. */
  readonly name: string;
  readonly namespace: string | undefined;
  readonly ticket: bigint;
  /** The waiter's label. */
  readonly owner: string | undefined;
  /** When the waiter joined the queue, ISO, by the waiter's clock. */
  readonly since: string | undefined;
  /** The session that keeps the place alive; undefined while the waiter renews the place itself. */
  readonly session: string | undefined;
  /** How long the waiter may go without renewing, in milliseconds. */
  readonly leaseMs: number;
  /** Whether this ticket, or a later ticket, was granted: a live waiter removes such a place at once. */
  readonly isServed: boolean;
  /** Whether this client has observed the waiter silent for longer than its lease. */
  readonly appearsExpired: boolean;
  /** Milliseconds until the place counts as dead at the earliest, if the waiter stays silent. */
  readonly acquirableInMs: number;
}

/** One page of a listing. */
export interface ListPage<S extends FormatTypes = NativeTypes> {
  readonly locks: readonly Inspection<S>[];
  /** Names of records that this version cannot read, with the layout found; never taken over. */
  readonly unreadable: readonly { readonly name: string; readonly found: string }[];
  /** Places in the queues of fair locks, held or free: all of them on the last page, in the order of the table. */
  readonly queued: readonly ListedEntry[];
  /** The read units that DynamoDB charged for this page, if reported. */
  readonly readUnits: number | undefined;
}

/** A page of a scan, as answered. */
export type Page = Extract<ScanAnswer, { readonly kind: "page" }>;

const ATTEMPTS = 4;
const PAUSE_MS = 200;

/** Lists the locks of the table by a scan. */
export async function* list(
  context: AcquireContext,
  options: ListOptions,
): AsyncGenerator<ListPage> {
  const kind = kindOf(checkNames("list()", options, LIST_NAMES));
  checkPrefix(options);
  // A format of another client has no tasks of `once`.
  if (kind === "once") context.format.codec.refOf(kind, "any");
  const prefixes = prefixesOf(context, kind, options.prefix ?? "");
  const places: FoundPlace[] = [];
  let after: Item | undefined;
  do {
    const page = await scanPage(context, prefixes, after);
    const records = recordsOf(context, kind, page, options.free ?? false);
    places.push(...page.items.flatMap((item) => placeIn(context, kind, item) ?? []));
    after = page.next;
    // Only the whole scan shows which tickets were granted: a record may come after the places in its queue.
    const queued = after === undefined ? places.map((place) => listedEntry(context, place)) : [];
    yield { ...records, queued, readUnits: page.readUnits };
  } while (after !== undefined);
}

/** Returns the beginnings of the keys of the listed records, and of the places in their queues. */
export function prefixesOf(
  { format: { codec, queue } }: AcquireContext,
  kind: RecordKind,
  namePrefix: string,
): KeyPrefix[] {
  const ofRecords = codec.prefixOf(kind, namePrefix);
  if (ofRecords === undefined) return [];
  return kind === "lock" && queue !== undefined
    ? [ofRecords, queue.prefixOf(namePrefix)]
    : [ofRecords];
}

/** Reads one page of a scan, with retries. Throws coded errors. */
export async function scanPage(
  context: AcquireContext,
  prefixes: readonly KeyPrefix[],
  after: Item | undefined,
): Promise<Page> {
  let left = ATTEMPTS;
  const send = () =>
    context.table.scan({ prefixes, after }, { timeoutMs: context.settings.requestTimeoutMs });
  const retried = await retry(context, send, {
    backoff: rising(PAUSE_MS),
    onNoAnswer: (answer) => {
      left -= 1;
      if (left === 0) throw notListed(context.tableName, answer);
    },
  });
  if (retried.kind !== "answered") throw new Error("A listing ends only after its attempts.");
  return retried.answer;
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

/** Resolves the record that the options of `inspect` and the like name. Throws `invalid-argument`. */
export function namedRef(format: LeaseFormat, name: LockName, options: InspectOptions): RecordRef {
  const kind = kindOf(options);
  if (options.namespace === undefined) return refOf(format, name, kind);
  if (kind === "lock") return queueRefOf(format, name as string, options.namespace);
  throw new HoldfastError(
    "invalid-argument",
    `The option \`namespace\` is for fair locks only, and "${name}" is of kind "${kind}". Leave the option out.`,
  );
}

export const RECORD_KINDS: readonly RecordKind[] = ["lock", "leader", "once"];
const HOLDER_KINDS: readonly RecordKind[] = ["lock", "leader"];

/** Resolves the kind. Throws `invalid-argument`. */
export function kindOf({ kind = "lock" }: Pick<InspectOptions, "kind">): RecordKind {
  return checkKind(kind, RECORD_KINDS);
}

/** Checks the kind of a record that names a holder. Throws `invalid-argument`. */
export function checkHolderKind({ kind = "lock" }: Pick<InspectOptions, "kind">): void {
  checkKind(kind, HOLDER_KINDS);
}

function checkKind(kind: RecordKind, allowed: readonly RecordKind[]): RecordKind {
  if (allowed.includes(kind)) return kind;
  const kinds = allowed.map((one) => `"${one}"`).join(" or ");
  throw new HoldfastError(
    "invalid-argument",
    `The option \`kind\` must be ${kinds}; it is "${kind}".`,
  );
}

export function checkPrefix({ prefix }: Pick<ListOptions, "prefix">): void {
  if (prefix === undefined || typeof prefix === "string") return;
  throw new HoldfastError(
    "invalid-argument",
    `The option \`prefix\` must be a string; it is a ${typeof prefix}.`,
  );
}

export function recordsOf(
  context: AcquireContext,
  kind: RecordKind,
  { items, dateMs }: Page,
  withFree: boolean,
): Pick<ListPage, "locks" | "unreadable"> {
  const locks: Inspection[] = [];
  const unreadable: { name: string; found: string }[] = [];
  for (const item of items) {
    const name = context.format.codec.nameOf(kind, item);
    if (name === undefined) continue;
    const ref = context.format.codec.refOf(kind, name, context.format.queue?.namespaceIn(item));
    const found = context.see(ref, { item }, "eventual");
    if (!isReadable(found)) unreadable.push({ name: ref.name, found: found.found });
    else if (found.state === "held" || withFree) {
      locks.push(inspectionOf(context, ref, found, dateMs));
    }
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
  kind: RecordKind,
  item: Item,
): FoundPlace | undefined {
  const { queue } = context.format;
  const [name, ticket] = [queue?.nameIn(item), queue?.ticketIn(item)];
  if (queue === undefined || name === undefined || ticket === undefined) return undefined;
  const lock = context.format.codec.refOf(kind, name, queue.namespaceIn(item));
  const ref = queue.entryOf(lock, ticket);
  const found = context.see(ref, { item }, "eventual");
  if (found.state !== "held") return undefined;
  const { owner, acquiredAt, session, leaseMs, appearsExpired, acquirableInMs } = inspectionOf(
    context,
    ref,
    found,
  );
  const { namespace } = lock;
  const whose = { name, namespace, ticket, owner, since: acquiredAt, session };
  return { lock, entry: { ...whose, leaseMs: leaseMs ?? 0, appearsExpired, acquirableInMs } };
}

export function listedEntry(context: AcquireContext, { lock, entry }: FoundPlace): ListedEntry {
  return { ...entry, isServed: entry.ticket <= (servedOf(context, lock) ?? -1n) };
}

function servedOf(context: AcquireContext, lock: RecordRef): bigint | undefined {
  const record = context.observations.of(lock.id)?.record;
  return record === undefined || record.state === "absent" ? undefined : record.queue.served;
}
