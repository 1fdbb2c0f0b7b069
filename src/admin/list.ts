import type { AcquireContext } from "../core/acquire/context.js";
import type { LeaseFormat, RecordRef } from "../core/record/format.js";
import type { FormatTypes, LockName, NativeTypes } from "../core/record/format-types.js";
import { queueRefOf, refOf } from "../core/record/key.js";
import { isReadable } from "../core/record/record.js";
import { HoldfastError } from "../errors.js";
import { causeText } from "../internal/cause-text.js";
import { type Inspection, inspectionOf } from "../locks/inspect.js";
import type { Item, Scan, ScanAnswer } from "../platform/table.js";

/** What can be looked at by name: locks, or the leaderships of elections. */
export type RecordKind = "lock" | "leader";

/** Options of `Holdfast.inspect`. */
export interface InspectOptions {
  /** `leader` for the leadership of an election. Default `lock`. */
  readonly kind?: RecordKind | undefined;
  /** The namespace of a fair lock. Default: none, which is the lock that `mutex(name)` is too. */
  readonly namespace?: string | undefined;
}

/** Which locks to list. */
export interface ListOptions {
  /** `leader` for the leaderships of elections. Default `lock`. One listing is of one kind. */
  readonly kind?: RecordKind | undefined;
  /** Only names that begin with this. It does not make the scan cheaper. */
  readonly prefix?: string | undefined;
  /** Also locks that nobody holds. Default false. */
  readonly free?: boolean | undefined;
}

/** A place in the queue of a fair lock, as a scan shows it. */
export interface ListedEntry {
  /** The lock's. */
  readonly name: string;
  readonly namespace: string | undefined;
  readonly ticket: bigint;
  /** The label of whose place it is, or was. */
  readonly owner: string | undefined;
  /** The session that it lives by; undefined while its waiter renews it. */
  readonly session: string | undefined;
  /** For how long its waiter may be silent, in milliseconds. */
  readonly leaseMs: number;
  /** Whether its ticket, or a later one, was granted: a waiter that is alive removes it at once. */
  readonly isServed: boolean;
  /** Whether this client has watched its waiter be silent for longer than its lease. */
  readonly appearsExpired: boolean;
  /** In how many milliseconds it looks dead at the earliest, if its waiter stays silent. */
  readonly acquirableInMs: number;
}

/** One page of a listing. */
export interface ListPage<S extends FormatTypes = NativeTypes> {
  readonly locks: readonly Inspection<S>[];
  /** Names of records that this version cannot read, with what was found; never stolen from. */
  readonly unreadable: readonly { readonly name: string; readonly found: string }[];
  /** Places in the queues of fair locks, held or not; in the order of the table. */
  readonly queued: readonly ListedEntry[];
  /** What DynamoDB charged for this page, in read units, where it said so. */
  readonly readUnits: number | undefined;
}

type Page = Extract<ScanAnswer, { readonly kind: "page" }>;

const ATTEMPTS = 4;
const PAUSE_MS = 200;

/** Lists the locks of the table by scanning it. */
export async function* list(
  context: AcquireContext,
  options: ListOptions,
): AsyncGenerator<ListPage> {
  const kind = kindOf(options);
  checkPrefix(options);
  const prefix = context.format.prefixOf(kind, options.prefix ?? "");
  let after: Item | undefined;
  do {
    const page = await scanPage(context, prefix, after);
    yield pageOf(context, kind, page, options.free ?? false);
    after = page.next;
  } while (after !== undefined);
}

/** One page of a scan, sent again where it was not answered. Throws coded errors. */
export async function scanPage(
  context: AcquireContext,
  prefix: Scan["prefix"],
  after: Item | undefined,
): Promise<Page> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await context.table.scan(
      { prefix, after },
      { timeoutMs: context.settings.requestTimeoutMs },
    );
    if (answer.kind === "page") return answer;
    if (answer.kind === "misconfigured") throw answer.error;
    if (attempt === ATTEMPTS) {
      const isSilent = answer.kind === "unknown" || answer.kind === "skewed";
      throw new HoldfastError(
        isSilent ? "unreachable" : "throttled",
        `The locks could not be listed: ${isSilent ? `the table does not answer${causeText(answer.cause)}` : "DynamoDB refused every request for now"}. ` +
          "Check the endpoint, the region and the table's capacity.",
        { cause: answer.cause },
      );
    }
    await context.sleep(context.jittered(PAUSE_MS * attempt));
  }
}

/** Which record the options of `inspect` and the like name. Throws `invalid-argument`. */
export function namedRef(format: LeaseFormat, name: LockName, options: InspectOptions): RecordRef {
  const kind = kindOf(options);
  if (options.namespace === undefined) return refOf(format, name, kind);
  if (kind === "lock") return queueRefOf(format, name as string, options.namespace);
  throw new HoldfastError(
    "invalid-argument",
    `The option \`namespace\` is for fair locks: the election "${name}" has none.`,
  );
}

/** Which kind is asked for. Throws `invalid-argument`. */
export function kindOf({ kind = "lock" }: Pick<InspectOptions, "kind">): RecordKind {
  if (kind === "lock" || kind === "leader") return kind;
  throw new HoldfastError(
    "invalid-argument",
    `The option \`kind\` must be "lock" or "leader"; it is "${kind}".`,
  );
}

function checkPrefix({ prefix }: ListOptions): void {
  if (prefix === undefined || typeof prefix === "string") return;
  throw new HoldfastError(
    "invalid-argument",
    `The option \`prefix\` must be a string; it is a ${typeof prefix}.`,
  );
}

function pageOf(
  context: AcquireContext,
  kind: RecordKind,
  { items, readUnits }: Page,
  withFree: boolean,
): ListPage {
  const locks: Inspection[] = [];
  const unreadable: { name: string; found: string }[] = [];
  const queued: ListedEntry[] = [];
  for (const item of items) {
    const name = context.format.nameOf(kind, item);
    if (name === undefined) {
      queued.push(...entryIn(context, kind, item));
      continue;
    }
    const ref = context.format.refOf(kind, name, context.format.queue?.namespaceIn(item));
    const found = context.see(ref, item, "eventual");
    if (!isReadable(found)) unreadable.push({ name: ref.name, found: found.found });
    else if (found.state === "held" || withFree) locks.push(inspectionOf(context, ref, found));
  }
  return { locks, unreadable, queued, readUnits };
}

/** The entry that an item is; nothing, if it is none. */
function entryIn(context: AcquireContext, kind: RecordKind, item: Item): ListedEntry[] {
  const { queue } = context.format;
  const [name, ticket] = [queue?.nameIn(kind, item), queue?.ticketIn(item)];
  if (queue === undefined || name === undefined || ticket === undefined) return [];
  const lock = context.format.refOf(kind, name, queue.namespaceIn(item));
  const entry = queue.entryOf(lock, ticket);
  const found = context.see(entry, item, "eventual");
  if (found.state !== "held") return [];
  const { owner, session, leaseMs, appearsExpired, acquirableInMs } = inspectionOf(
    context,
    entry,
    found,
  );
  const { namespace } = lock;
  return [
    {
      ...{ name, namespace, ticket, owner, session, leaseMs: leaseMs ?? 0 },
      isServed: ticket <= (servedOf(context, lock) ?? -1n),
      appearsExpired,
      acquirableInMs: acquirableInMs,
    },
  ];
}

// A lock's record comes before its entries, in the order of their sort keys.
function servedOf(context: AcquireContext, lock: RecordRef): bigint | undefined {
  const record = context.observations.of(lock.id)?.record;
  return record === undefined || record.state === "absent" ? undefined : record.queue.served;
}
