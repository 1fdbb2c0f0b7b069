/**
 * The native record.
 *
 * Not promised: the record alone does not guarantee mutual exclusion. The holder's deadline, the waiter's watch
 * and the fence do. The record makes each of their steps atomic.
 *
 * Key: `pk` (S) is the kind and the name joined by `#`; `sk` (S), in a table with a sort key, is `lease`.
 *
 * | attribute | type | meaning |
 * | --- | --- | --- |
 * | `v` | N | the layout, 1; the client never claims or takes over any other |
 * | `holder` | S | the id of the holder's acquisition; absent while the record is free |
 * | `version` | N | changes with every grant and renewal, never decreases |
 * | `fence` | N | higher at every grant than at any earlier grant |
 * | `leaseMs` | N | how long the holder may be silent, in milliseconds |
 * | `leaseEnd` | M | the end of the lease in the table's time: `holder`, and `at` in milliseconds since 1970; counts only |
 * | | | while `holder` is the record's; absent in a record on a session |
 * | `owner` | S | a readable label |
 * | `acquiredAt` | S | ISO time of the grant by the holder's clock, for operators |
 * | `data`, `dataSeq` | any, N | user data, and the number of the last data write under this grant |
 * | `mark` | S | the last applied renewal |
 * | `lastHolder` | S | the holder that freed the record last |
 * | `session` | S | the session that keeps the holder alive; absent while the holder renews the record itself |
 * | `tail`, `served` | N | the last ticket taken, and granted, of a queue before the record |
 * | `calls`, `ran` | N | the calls of a coalesced work, and how many of them the last completed run covered |
 * | `request` | M | the last request to a holder: `holder`, the only addressee, and `kind`: |
 * | | | `prefer`, `resign`, `want`, `interrupt` or `release`; the last three also have `by`, and a release has `reason`, |
 * | | | `at` and `now`, whether at once |
 * | `ring` | S | how a waiter reaches the holder's client: `holder`, an address and a token; see `native-rings.ts` |
 * | `asked`, `asker` | N, S | the number of the last caller that interrupts holders, and its id while it waits |
 * | `request#` and a holder | BOOL | in a session's record: this holder on the session has a request |
 * | `expiresAt` | N | TTL in seconds, at least seven days beyond the lease; absent in a record of kind `once` |
 *
 * Beside a record: the entries of its queue (below), its history (`native-history.ts`), and the members of a group
 * (`native-members.ts`). A record with several holders
 * differs: `native-permits.ts`. A grant of several
 * records is one transaction: the claim or takeover of each, exactly as observed. Before the grant, another
 * transaction takes the tickets (`raise`) and claims the entries of all the queues. See spec/protocol.md,
 * "Several locks".
 *
 * Each step is one conditional UpdateItem: see `leaseWrites` below, `native-sessions.ts` and `native-requests.ts`.
 */

import type {
  FreeOptions,
  Grant,
  Held,
  Holders,
  Kind,
  LeaseFormat,
  LeaseWrites,
  NumberedData,
  Onto,
  QueueFormat,
  RecordCodec,
  RecordRef,
  Renewal,
  Watched,
} from "../core/record/format.js";
import type { ExistingData } from "../core/record/format-facts.js";
import type { LockName } from "../core/record/format-types.js";
import type { Found } from "../core/record/record.js";
import type { HoldfastError } from "../errors.js";
import { decodeJson, encodeJson } from "../internal/json-value.js";
import { refuse } from "../internal/option-names.js";
import type { Change, Condition, Increment, Item, Write } from "../platform/table.js";
import {
  all,
  any,
  equals,
  expiresAt,
  heldCondition,
  isAbsent,
  isNumber,
  isPresent,
  KNOWN,
  LAYOUT,
  NEXT_VERSION,
  n,
  overWallMs,
  queueCondition,
  s,
  TOO_LARGE,
} from "./native-conditions.js";
import { askedIn, endIn, numberIn, requestIn, sessionIn, stringIn } from "./native-values.js";
import { looksLike } from "./recognise.js";

/** The names of the key attributes; `sk` is null in a table without a sort key. */
export interface NativeKeys {
  readonly pk: string;
  readonly sk: string | null;
}

/** The key names of `createTable`: `pk` and `sk`. */
export const NATIVE_KEYS: NativeKeys = Object.freeze({ pk: "pk", sk: "sk" });

/** The TTL attribute, in seconds since 1970. */
export const NATIVE_TTL_ATTRIBUTE = "expiresAt";

export const SORT_KEY = "lease";
// A lock, a semaphore and a read-write lock of one name have queues of their own.
export const ENTRY_KEYS: Readonly<Record<string, Kind>> = Object.freeze({
  ticket: "lock",
  semaphore: "semaphore",
  "read-write": "read-write",
});
// Entries have a partition of their own, so that a policy can let a process delete entries but no record of a lock.
export const QUEUE_PARTITION = "queue#";
// The exact digits of a DynamoDB number; texts padded to this length sort in the order of the numbers.
const TICKET_DIGITS = 38;

// Refuses a renewal or a move of a lease on a session, because waiters watch the session, and not the record.
const NO_SESSION = isAbsent("session");

const FREE = all(
  equals("v", n(1n)),
  isNumber("fence"),
  isNumber("version"),
  isAbsent("holder"),
  NO_SESSION,
);

// The write of a ticket names no observed state. Without this condition it could change a record that has become
// unreadable since the client read it.
const READABLE = all(
  KNOWN,
  any(all(isAbsent("holder"), NO_SESSION), all(isPresent("holder"), isNumber("leaseMs"))),
);

/** Makes the native format for a table with these key attributes. */
export function nativeFormat(keys: NativeKeys): LeaseFormat {
  return {
    name: "native",
    facts: {
      schema: { keys, ttlAttribute: NATIVE_TTL_ATTRIBUTE },
      writes: { hold: ["UpdateItem"], free: ["UpdateItem"] },
      recordsHaveFences: true,
      releaseMayDelete: false,
      freeNeedsMark: false,
    },
    codec: nativeCodec(keys),
    lease: leaseWrites(keys.pk),
    queue: keys.sk === null ? undefined : nativeQueue(keys.pk, keys.sk),
  };
}

// The owner is read for messages only, at no cost: DynamoDB charges a read by the whole item.
const POLL_ATTRIBUTES = Object.freeze([
  "v",
  "holder",
  "version",
  "fence",
  "leaseMs",
  "leaseEnd",
  "session",
  "tail",
  "served",
  "owner",
  "request",
  "asked",
  "asker",
  "lastHolder",
  "ring",
  NATIVE_TTL_ATTRIBUTE,
]);

function nativeCodec(keys: NativeKeys): RecordCodec {
  return {
    pollAttributes: POLL_ATTRIBUTES,
    refOf(kind: Kind, name: LockName, namespace?: string): RecordRef {
      if (typeof name !== "string") throw nameOfTwoParts();
      const pk = `${kind}#${name}`;
      if (keys.sk === null) return { kind, name, key: { [keys.pk]: s(pk) }, id: pk };
      const sk =
        namespace === undefined ? SORT_KEY : `${SORT_KEY}/${encodeURIComponent(namespace)}`;
      // An id in JSON differs from every `pk`, which begins with the kind.
      const id = namespace === undefined ? pk : JSON.stringify([pk, sk]);
      return { kind, name, key: { [keys.pk]: s(pk), [keys.sk]: s(sk) }, id, namespace };
    },
    holderOf: (_owner, id) => id,
    read(item, ref) {
      const found = readNative(item, ref?.kind === "session");
      return ref?.shared === undefined ? found : ref.shared.read(found, item, ref);
    },
    checkData: (value) => void encodeJson(value),
  };
}

function leaseWrites(pk: string): LeaseWrites {
  return {
    claim: (ref, grant, onto) => ({
      key: ref.key,
      condition: all(ontoCondition(onto, pk), ...queueCondition(grant), ...blockCondition(grant)),
      change: granting(ref, grant),
    }),
    takeOver: (ref, grant, watched) => ({
      key: ref.key,
      condition: all(watchedCondition(watched), ...queueCondition(grant)),
      change: granting(ref, grant),
    }),
    // Without a ticket, a waiter of this process gets the lock only while no waiter is queued.
    handOver: (ref, grant, from) => ({
      key: ref.key,
      condition: all(holdersCondition(from), ...queueCondition(grant)),
      change: granting(ref, grant),
    }),
    renew: (ref, held, renewal) => ({
      key: ref.key,
      condition: all(
        heldCondition(held),
        { kind: "at-least", attribute: "version", value: n(renewal.version) },
        NO_SESSION,
        noLaterEnd(held, renewal),
        ...newerData(renewal.data),
      ),
      change: lasting(ref, renewalChange(held, renewal)),
    }),
    changeLength: (ref, held, renewal) => ({
      key: ref.key,
      condition: changeCondition(held, renewal),
      change: lasting(ref, withSet(renewalChange(held, renewal), { leaseMs: n(renewal.leaseMs) })),
    }),
    updateData: (ref, held, data) => ({
      key: ref.key,
      condition: all(heldCondition(held), ...newerData(data)),
      change: { set: dataSet(data), remove: dataRemove(data.value) },
    }),
    free: (ref, from, options) =>
      ref.shared?.free(ref, from, options) ?? freeing(ref, from, options),
    heldCondition: (held, { shared }) => shared?.heldCondition(held) ?? heldCondition(held),
    tombstone: (ref, { fence, owner, wallMs }) => ({
      key: ref.key,
      condition: isAbsent(pk),
      change: {
        set: {
          v: { N: LAYOUT },
          version: n(0),
          fence: n(fence),
          owner: s(owner),
          expiresAt: expiresAt(wallMs, 0),
        },
        remove: [],
      },
    }),
  };
}

function freeing(ref: RecordRef, from: Holders, options: FreeOptions): Write {
  return {
    key: ref.key,
    condition: holdersCondition(from),
    change: lasting(ref, {
      set: {
        lastHolder: s(options.lastHolder),
        expiresAt: expiresAt(options.wallMs, 0),
        ...(options.lastData === undefined ? {} : { data: encodeJson(options.lastData) }),
        ...(options.served === undefined ? {} : { served: n(options.served) }),
        ...(options.forced === undefined ? {} : { request: options.forced }),
      },
      remove: [
        "holder",
        "leaseEnd",
        "session",
        ...(options.keepData ? [] : ["data"]),
        ...(options.hasRings === true ? ["ring"] : []),
      ],
    }),
  };
}

function nameOfTwoParts(): HoldfastError {
  return refuse("The name of a lock must be a string: names in the native format have one part.");
}

// A session has one attribute for each holder, so that no notification replaces another.
export const REQUEST_ON_SESSION = "request#";

/**
 * The queue before the record of a lock: entries at `pk` = `queue#` and the name, and `sk` = `ticket/`, the
 * namespace, `/` and the ticket in 38 digits. Each entry has the layout of a record, and is kept alive in the same way.
 */
function nativeQueue(pkName: string, skName: string): QueueFormat {
  return {
    // Requires an existing record: if there is no record, the waiter claims the lock instead.
    take: (ref, count, { wallMs }) => {
      const tail = { incrementFrom: Math.floor(wallMs).toString(), by: count };
      return { key: ref.key, condition: READABLE, change: { set: { tail }, remove: [] } };
    },
    raise: (ref, ticket, { fenceSeed, wallMs }) => ({
      key: ref.key,
      condition: all(
        any(isAbsent(pkName), READABLE),
        any(isAbsent("tail"), { kind: "below", attribute: "tail", value: n(ticket) }),
      ),
      change: {
        set: {
          v: { N: LAYOUT },
          version: { orElse: n(0) },
          fence: { orElse: n(fenceSeed) },
          expiresAt: { orElse: expiresAt(wallMs, 0) },
          tail: n(ticket),
        },
        remove: [],
      },
    }),
    entryOf(ref, ticket) {
      const { kind, name, namespace } = ref;
      const [pk, sk] = [queueKey(name), entrySortKey(ref, ticket)];
      const id = JSON.stringify([pk, sk]);
      const key = { [pkName]: s(pk), [skName]: s(sk) };
      return { kind, name, namespace, key, id, isEntry: true };
    },
    ticketIn(item) {
      const parts = stringIn(item, skName)?.split("/") ?? [];
      const [kind, , digits] = parts;
      const isEntry =
        parts.length === 3 && (kind ?? "") in ENTRY_KEYS && /^\d{38}$/.test(digits ?? "");
      return isEntry ? BigInt(digits ?? "") : undefined;
    },
    upTo: (ref, ticket) => ({
      partition: { attribute: pkName, value: queueKey(ref.name) },
      sort: { attribute: skName, from: entrySortKey(ref, 0n), to: entrySortKey(ref, ticket) },
    }),
    remove: (entry, from) => ({
      key: entry.key,
      condition: holdersCondition(from),
      change: { set: {}, remove: [] },
      as: "delete",
    }),
  };
}

export const queueKey = (name: string): string => `${QUEUE_PARTITION}${name}`;

// An encoded namespace never contains the separator, so no namespace is a prefix of another.
function entrySortKey({ kind, namespace }: RecordRef, ticket: bigint): string {
  const key = kind === "semaphore" || kind === "read-write" ? kind : "ticket";
  const within = namespace === undefined ? "" : encodeURIComponent(namespace);
  return `${key}/${within}/${ticket.toString().padStart(TICKET_DIGITS, "0")}`;
}

function ontoCondition(onto: Onto, pk: string): Condition {
  switch (onto.kind) {
    case "blind":
      return any(isAbsent(pk), FREE);
    case "existing":
      return FREE;
    case "absent":
      return isAbsent(pk);
    case "free":
      return all(FREE, equals("fence", n(onto.fence)));
  }
}

function watchedCondition({ holder, version, session }: Watched): Condition {
  return all(
    equals("holder", s(holder)),
    equals("version", n(version)),
    session === undefined ? NO_SESSION : equals("session", s(session)),
  );
}

// DynamoDB must apply a write that changes the length or the session once or never: waiters decide by both whether the
// holder is dead (R5).
export function changeCondition(held: Held, renewal: Renewal): Condition {
  return all(
    heldCondition(held),
    equals("version", n(renewal.version)),
    NO_SESSION,
    ...newerData(renewal.data),
  );
}

function holdersCondition(from: Holders): Condition {
  return any(
    ...(from.known === undefined ? [] : [heldCondition(from.known)]),
    ...(from.maybe ?? []).map((holder) => equals("holder", s(holder))),
    ...(from.watched === undefined ? [] : [watchedCondition(from.watched)]),
  );
}

// DynamoDB may apply a renewal late or twice. A late copy must not move the end back: a waiter would take over before
// the holder's deadline. A renewal without an end must not remove an end, for then a late copy could set an earlier
// one.
function noLaterEnd({ holder }: Held, { endMs }: Renewal): Condition {
  const isOfAnother: Condition = {
    kind: "differs",
    attribute: "leaseEnd",
    member: "holder",
    value: s(holder),
  };
  if (endMs === undefined) return isOfAnother;
  const after = { attribute: "leaseEnd", member: "at", value: n(endMs + 1) } as const;
  return any(isOfAnother, { kind: "below", ...after });
}

function newerData(data: NumberedData | undefined): Condition[] {
  return data === undefined ? [] : [{ kind: "below", attribute: "dataSeq", value: n(data.seq) }];
}

// A task's record is the only memory of its past occurrences: deleted by TTL, the record would let them run
// again. All occurrences of a task share a single record.
function lasting({ kind }: RecordRef, change: Change): Change {
  if (kind !== "once") return change;
  const { expiresAt: _, ...set } = change.set;
  return { set, remove: [...change.remove, "expiresAt"] };
}

// A schedule repeats a claim that has freed itself with its own mark, before its work (rule 144). A grant that keeps the
// data, as that of `once()`, may have taken over from a run that died, and must not look like that run's claim.
function granting(ref: RecordRef, grant: Grant): Change {
  const change = lasting(ref, grantChange(grant));
  if (ref.kind !== "once" || grant.data !== undefined) return change;
  const { mark: _, ...set } = change.set;
  return { ...change, set };
}

// The other grants of a block follow an observation of the fence.
function blockCondition({ block }: Grant): Condition[] {
  if (block === undefined) return [];
  return [any(isAbsent("fence"), { kind: "below", attribute: "fence", value: n(block.below) })];
}

// A grant replaces all attributes by which waiters decide whether a holder is dead. Otherwise they would use the former
// holder's lease length, or an ended session, for the new holder.
function grantChange(grant: Grant): Change {
  return {
    set: {
      v: { N: LAYOUT },
      holder: s(grant.holder),
      version: NEXT_VERSION,
      fence: {
        incrementFrom: grant.fenceSeed.toString(),
        ...(grant.block === undefined ? {} : { by: grant.block.count }),
      },
      leaseMs: n(grant.leaseMs),
      owner: s(grant.owner),
      acquiredAt: s(grant.acquiredAt),
      mark: s(grant.holder),
      dataSeq: n(0),
      expiresAt: expiresAt(grant.wallMs, grant.leaseMs),
      ...endSet(grant.holder, grant.endMs),
      ...(grant.passage?.kind === "ticket" ? { served: n(grant.passage.ticket) } : {}),
      ...(countsAsAsker(grant) ? { asked: NEXT_ASKER } : {}),
      ...(grant.ring === undefined ? {} : { ring: s(grant.ring) }),
      ...grant.attributes,
      ...grantedData(grant.data, grant.existingData),
    },
    remove: [
      "session",
      ...endRemove(grant.endMs),
      ...(grant.existingData === "replace" ? dataRemove(grant.data) : []),
      ...(countsAsAsker(grant) ? ["asker"] : []),
    ],
  };
}

const NEXT_ASKER: Increment = { incrementFrom: "0" };

// A caller that got the lock at once came later than the askers that still wait, so that they must not interrupt it.
function countsAsAsker({ passage }: Grant): boolean {
  return passage?.kind === "asker" && passage.number === undefined;
}

function grantedData(value: unknown, existing: ExistingData): Change["set"] {
  if (value === undefined) return {};
  return {
    data: existing === "keep" ? { orElse: encodeJson(value) } : encodeJson(value),
  };
}

// The holder is part of the attribute: a client of an older version leaves the end of an earlier grant in place.
function endSet(holder: string, endMs: number | undefined): Change["set"] {
  return endMs === undefined ? {} : { leaseEnd: { M: { holder: s(holder), at: n(endMs) } } };
}

function endRemove(endMs: number | undefined): string[] {
  return endMs === undefined ? ["leaseEnd"] : [];
}

export function renewalChange({ holder }: Held, renewal: Renewal): Change {
  return {
    set: {
      version: NEXT_VERSION,
      mark: s(renewal.mark),
      expiresAt: expiresAt(renewal.wallMs, renewal.leaseMs),
      ...endSet(holder, renewal.endMs),
      ...(renewal.data === undefined ? {} : dataSet(renewal.data)),
    },
    remove: [
      ...endRemove(renewal.endMs),
      ...(renewal.data === undefined ? [] : dataRemove(renewal.data.value)),
    ],
  };
}

function dataSet(data: NumberedData): Change["set"] {
  return {
    dataSeq: n(data.seq),
    ...(data.value === undefined ? {} : { data: encodeJson(data.value) }),
  };
}

function dataRemove(value: unknown): string[] {
  return value === undefined ? ["data"] : [];
}

export function withSet(change: Change, set: Change["set"]): Change {
  return { set: { ...change.set, ...set }, remove: change.remove };
}

/** Reads an item. Pure; never throws: describes an unreadable item instead (R12). */
function readNative(item: Item | undefined, isSession: boolean): Found {
  if (item === undefined) return { state: "absent" };
  const layout = numberIn(item, "v");
  if (layout === undefined) {
    return { state: "foreign", found: `has no layout number \`v\`${looksLike(item, "native")}` };
  }
  if (layout !== 1n) return { state: "unsupported", found: `has layout ${layout}` };
  const version = numberIn(item, "version");
  const fence = numberIn(item, "fence");
  if (fence === undefined || version === undefined) {
    return { state: "foreign", found: "has no whole number in `fence` or `version`" };
  }
  if (fence >= TOO_LARGE || version >= TOO_LARGE) {
    return {
      state: "foreign",
      found: "has a number of more than 37 digits in `fence` or `version`",
    };
  }
  if (["tail", "served"].some((end) => item[end] && numberIn(item, end) === undefined)) {
    return { state: "foreign", found: "has no whole number in `tail` or `served`" };
  }
  const known = {
    version,
    fence,
    queue: {
      tail: numberIn(item, "tail"),
      served: numberIn(item, "served"),
      overWallMs:
        isSession || item["tail"] ? overWallMs(numberIn(item, NATIVE_TTL_ATTRIBUTE)) : undefined,
    },
    lastHolder: stringIn(item, "lastHolder"),
    owner: stringIn(item, "owner"),
    acquiredAt: stringIn(item, "acquiredAt"),
    data: item["data"] && decodeJson(item["data"]),
    request: requestIn(item),
    asked: askedIn(item),
    calls: numberIn(item, "calls"),
    ran: numberIn(item, "ran"),
    requestedHolders: requestedHoldersIn(item),
  };
  const session = sessionIn(item);
  if (item["session"] && (session === undefined || !item["holder"])) {
    return {
      state: "foreign",
      found: "names a session without a readable id, or names a session but no holder",
    };
  }
  if (!item["holder"]) return { state: "free", ...known };
  const holder = stringIn(item, "holder");
  const leaseMs = numberIn(item, "leaseMs");
  if (holder === undefined || leaseMs === undefined || leaseMs <= 0n) {
    return { state: "foreign", found: "has a holder, but no readable lease length" };
  }
  return {
    state: "held",
    ...known,
    holder,
    leaseMs: Number(leaseMs),
    endMs: session === undefined ? endIn(item, holder) : undefined,
    session,
    mark: stringIn(item, "mark"),
    dataSeq: Number(numberIn(item, "dataSeq") ?? 0n),
    ring: stringIn(item, "ring"),
  };
}

function requestedHoldersIn(item: Item): string[] | undefined {
  const names = Object.keys(item).filter((attribute) => attribute.startsWith(REQUEST_ON_SESSION));
  if (names.length === 0) return undefined;
  return names.map((attribute) => attribute.slice(REQUEST_ON_SESSION.length));
}
