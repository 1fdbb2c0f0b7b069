/**
 * The native record.
 *
 * What it does not do: it does not keep two processes apart by itself. The deadline of the holder,
 * the watch of the rival and the fence do; the record only makes each of their steps atomic.
 *
 * Key: `pk` (S) is the kind and the name joined by `#`; `sk` (S), where the table has one, is `lease`.
 *
 * | attribute | type | meaning |
 * | --- | --- | --- |
 * | `v` | N | the layout, 1; any other is never claimed nor taken over |
 * | `holder` | S | the acquisition that holds; absent while the record is free |
 * | `version` | N | changes with every grant and renewal, never goes back |
 * | `fence` | N | higher at every grant than at any earlier one |
 * | `leaseMs` | N | how long the holder may be silent, milliseconds |
 * | `owner` | S | a label for people |
 * | `acquiredAt` | S | ISO time of the grant by the holder's clock, for people |
 * | `data`, `dataSeq` | any, N | user data, and the number of its last write under this grant |
 * | `mark` | S | the renewal that was applied last |
 * | `lastHolder` | S | who freed the record last |
 * | `session` | S | the session that the holder lives by; absent while it renews the record itself |
 * | `tail`, `served` | N | the last ticket given, and granted, of a queue before the record |
 * | `resignAsked`, `preferAsked` | S | the holder that was last asked to give up; meant for no other |
 * | `forced` | M | the last forced release: whose grant, who, when and why; whether at once |
 * | `asked#` and a holder | BOOL | of a session: that this holder on it was asked to end |
 * | `expiresAt` | N | TTL in seconds, at least seven days beyond the lease; a record of kind `once` has none |
 *
 * Beside a record: places in its queue, below, and its history, in `native-history.ts`.
 * Several records at once: the claims and takeovers of each, exactly as seen, in one transaction; before
 * that `raise` of each and the claims of their entries, in another. See spec/protocol.md, "Several locks".
 *
 * Steps, each one conditional UpdateItem: see `claim`, `takeOver`, `handOver`, `renew`, `changeLength`,
 * `moveToSession`, `updateData`, `free`, `ask` and what follows it below, in the order of spec/protocol.md.
 */

import type {
  ExistingData,
  Grant,
  Held,
  Holders,
  Kind,
  LeaseFormat,
  NumberedData,
  Onto,
  QueueFormat,
  RecordRef,
  Renewal,
  Watched,
} from "../core/record/format.js";
import type { LockName } from "../core/record/format-types.js";
import type { Found, Version } from "../core/record/record.js";
import { HoldfastError } from "../errors.js";
import { decodeJson, encodeJson } from "../internal/json-value.js";
import type {
  AttributeValue,
  Change,
  Condition,
  Increment,
  Item,
  Write,
} from "../platform/table.js";
import { nativeHistory } from "./native-history.js";
import { forcedIn, forcedValue, numberIn, stringIn } from "./native-values.js";
import { looksLike } from "./recognise.js";

/** The names of the key attributes; `sk` is null in a table that has a hash key alone. */
export interface NativeKeys {
  readonly pk: string;
  readonly sk: string | null;
}

/** `pk` and `sk`, as `createTable` makes them. */
export const NATIVE_KEYS: NativeKeys = Object.freeze({ pk: "pk", sk: "sk" });

/** The attribute that DynamoDB's TTL looks at, in seconds since 1970. */
export const NATIVE_TTL_ATTRIBUTE = "expiresAt";

const LAYOUT = "1";
const SORT_KEY = "lease";
const ENTRY_KEY = "ticket";
// What DynamoDB's numbers hold exactly; padded to as many, they are in order as text too.
const TICKET_DIGITS = 38;

// TTL only tidies, but it must not tidy a live record; and the fence of a deleted one must restart above
// its old value (R10). Seven days do both where no clock is wrong by more than two: there are three that
// can be, those of who seeded the fence, of who wrote the TTL last, and of who claims next.
const RETENTION_MS = 7 * 24 * 3_600_000;

const s = (value: string): AttributeValue => ({ S: value });
const n = (value: Version | number): AttributeValue => ({ N: value.toString() });
const isAbsent = (attribute: string): Condition => ({ kind: "absent", attribute });
const isPresent = (attribute: string): Condition => ({ kind: "present", attribute });
const equals = (attribute: string, value: AttributeValue): Condition => ({
  kind: "equals",
  attribute,
  value,
});
const all = (...of: readonly Condition[]): Condition => ({ kind: "all", of });
const any = (...of: readonly Condition[]): Condition => ({ kind: "any", of });

const NEXT_VERSION: Increment = { incrementFrom: "0" };

// Every grant without a ticket requires it, the mutex's too: a version of this library that did not would pass the
// queue of one that does.
const NOBODY_QUEUED = any(
  { kind: "same", attribute: "tail", as: "served" },
  all(isAbsent("tail"), isAbsent("served")),
);

// A renewal, and a move, of one that lives by a session would count as life that nobody watches.
const NO_SESSION = isAbsent("session");

// DynamoDB's numbers are exact to 38 digits. One that is near that end can be counted up to what nobody can read, and
// the record of that name could never be used again: such a record is refused before anything is written.
const TOO_LARGE = 10n ** 37n;

const isNumber = (attribute: string): Condition => ({
  kind: "below",
  attribute,
  value: n(TOO_LARGE),
});

const KNOWN = all(equals("v", n(1n)), isNumber("fence"), isNumber("version"));

const FREE = all(
  equals("v", n(1n)),
  isNumber("fence"),
  isNumber("version"),
  isAbsent("holder"),
  NO_SESSION,
);

/** Makes the format for a table with these key attributes. */
export function nativeFormat(keys: NativeKeys): LeaseFormat {
  const refOf = (kind: Kind, name: LockName, namespace?: string): RecordRef => {
    if (typeof name !== "string") throw nameOfTwoParts();
    const pk = `${kind}#${name}`;
    if (keys.sk === null) return { kind, name, key: { [keys.pk]: s(pk) }, id: pk };
    const sk = namespace === undefined ? SORT_KEY : `${SORT_KEY}/${encodeURIComponent(namespace)}`;
    // As JSON, an id is no pk, which begins with the kind.
    const id = namespace === undefined ? pk : JSON.stringify([pk, sk]);
    return { kind, name, key: { [keys.pk]: s(pk), [keys.sk]: s(sk) }, id, namespace };
  };
  return {
    name: "native",
    // The owner only for messages: a read is charged by the whole item, whatever it brings.
    pollAttributes: [
      "v",
      "holder",
      "version",
      "fence",
      "leaseMs",
      "session",
      "tail",
      "served",
      "owner",
      "preferAsked",
      "lastHolder",
    ],
    refOf,
    nameOf(kind, item) {
      const pk = item[keys.pk];
      if (pk === undefined || !("S" in pk) || !pk.S.startsWith(`${kind}#`)) return undefined;
      const sk = keys.sk === null ? undefined : item[keys.sk];
      if (sk !== undefined && !("S" in sk && isRecordKey(sk.S))) return undefined;
      return pk.S.slice(kind.length + 1);
    },
    prefixOf: (kind, namePrefix) => ({ attribute: keys.pk, value: `${kind}#${namePrefix}` }),
    read: readNative,
    checkData: (value) => void encodeJson(value),
    claim: (ref, grant, onto) => ({
      key: ref.key,
      condition: all(ontoCondition(onto, keys.pk), ...queueCondition(grant)),
      change: lasting(ref, grantChange(grant)),
    }),
    takeOver: (ref, grant, watched) => ({
      key: ref.key,
      condition: all(watchedCondition(watched), ...queueCondition(grant)),
      change: lasting(ref, grantChange(grant)),
    }),
    // Within the bound on local hand-overs a waiter of this process may pass the queue.
    handOver: (ref, grant, from) => ({
      key: ref.key,
      condition: holdersCondition(from),
      change: lasting(ref, grantChange(grant)),
    }),
    renew: (ref, held, renewal) => ({
      key: ref.key,
      condition: all(
        heldCondition(held),
        { kind: "at-least", attribute: "version", value: n(renewal.version) },
        NO_SESSION,
        ...newerData(renewal.data),
      ),
      change: lasting(ref, renewalChange(renewal)),
    }),
    changeLength: (ref, held, renewal) => ({
      key: ref.key,
      condition: changeCondition(held, renewal),
      change: lasting(ref, withSet(renewalChange(renewal), { leaseMs: n(renewal.leaseMs) })),
    }),
    moveToSession: (ref, held, renewal, session) => ({
      key: ref.key,
      condition: changeCondition(held, renewal),
      change: withSet(renewalChange(renewal), {
        leaseMs: n(renewal.leaseMs),
        session: s(session),
      }),
    }),
    keepFromExpiring: (ref, held, { wallMs, leaseMs }) => ({
      key: ref.key,
      condition: heldCondition(held),
      change: { set: { expiresAt: expiresAt(wallMs, leaseMs) }, remove: [] },
    }),
    tombstone: (ref, { fence, owner, wallMs }) => ({
      key: ref.key,
      condition: isAbsent(keys.pk),
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
    updateData: (ref, held, data) => ({
      key: ref.key,
      condition: all(heldCondition(held), ...newerData(data)),
      change: { set: dataSet(data), remove: dataRemove(data.value) },
    }),
    free: (ref, from, options): Write => ({
      key: ref.key,
      condition: holdersCondition(from),
      change: lasting(ref, {
        set: {
          lastHolder: s(options.lastHolder),
          expiresAt: expiresAt(options.wallMs, 0),
          ...(options.lastData === undefined ? {} : { data: encodeJson(options.lastData) }),
          ...(options.forced === undefined ? {} : { forced: forcedValue(options.forced) }),
        },
        remove: ["holder", "session", ...(options.keepData ? [] : ["data"])],
      }),
    }),
    // Not a grant nor a sign of life: the holder, the version and all that rivals judge by stay.
    ask: (ref, holder, ask): Write => ({
      key: ref.key,
      condition: all(equals("v", n(1n)), equals("holder", s(holder))),
      change: { set: { [ASKED[ask]]: s(holder) }, remove: [] },
    }),
    force: (ref, forced): Write => ({
      key: ref.key,
      condition: all(equals("v", n(1n)), equals("holder", s(forced.holder))),
      change: { set: { forced: forcedValue(forced) }, remove: [] },
    }),
    notify: (session, holder): Write => ({
      key: session.key,
      condition: all(equals("v", n(1n)), isPresent("holder")),
      change: { set: { [`${ASKED_ON_SESSION}${holder}`]: { BOOL: true } }, remove: [] },
    }),
    heldCondition,
    queue: keys.sk === null ? undefined : nativeQueue(keys.pk, keys.sk),
    handsOn: true,
    history: keys.sk === null ? undefined : nativeHistory(keys.pk, keys.sk),
  };
}

function nameOfTwoParts(): HoldfastError {
  return new HoldfastError(
    "invalid-argument",
    "The name of a lock must be a string: a native record has no second part.",
  );
}

// One attribute for each, so that no request to end undoes another.
const ASKED_ON_SESSION = "asked#";

/**
 * The queue before a record: entries in the record's own partition, at `sk` = `ticket/`, the namespace,
 * `/` and the ticket in 38 digits. Each is laid out as a record, and lives as one.
 */
function nativeQueue(pkName: string, skName: string): QueueFormat {
  // The separator is in no namespace as it is written here, so none is the beginning of another's.
  const prefixOf = ({ namespace }: RecordRef): string =>
    `${ENTRY_KEY}/${namespace === undefined ? "" : encodeURIComponent(namespace)}/`;
  const padded = (ticket: bigint): string => ticket.toString().padStart(TICKET_DIGITS, "0");
  const pkOf = (ref: RecordRef): string => stringIn(ref.key, pkName) ?? "";
  return {
    // A record that was never granted would be nobody's: whoever finds none claims it.
    take: (ref, { wallMs }) => ({
      key: ref.key,
      condition: KNOWN,
      change: { set: { tail: { incrementFrom: Math.floor(wallMs).toString() } }, remove: [] },
    }),
    raise: (ref, ticket, { fenceSeed, wallMs }) => ({
      key: ref.key,
      condition: all(
        any(isAbsent(pkName), KNOWN),
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
      const sk = `${prefixOf(ref)}${padded(ticket)}`;
      const { kind, name, namespace } = ref;
      const id = JSON.stringify([pkOf(ref), sk]);
      return {
        ...{ kind, name, namespace, id, isEntry: true },
        key: { [pkName]: s(pkOf(ref)), [skName]: s(sk) },
      };
    },
    ticketIn(item) {
      const parts = stringIn(item, skName)?.split("/") ?? [];
      const [kind, , digits] = parts;
      const isEntry = parts.length === 3 && kind === ENTRY_KEY && /^\d{38}$/.test(digits ?? "");
      return isEntry ? BigInt(digits ?? "") : undefined;
    },
    namespaceIn(item) {
      const [, encoded] = stringIn(item, skName)?.split("/") ?? [];
      // Whatever is in the table: nothing that it says may throw.
      return encoded === undefined || encoded === "" ? undefined : decoded(encoded);
    },
    nameIn(kind, entry) {
      const pk = this.ticketIn(entry) === undefined ? undefined : stringIn(entry, pkName);
      return pk?.startsWith(`${kind}#`) ? pk.slice(kind.length + 1) : undefined;
    },
    upTo: (ref, ticket) => ({
      partition: { attribute: pkName, value: pkOf(ref) },
      sort: {
        attribute: skName,
        from: `${prefixOf(ref)}${padded(0n)}`,
        to: `${prefixOf(ref)}${padded(ticket)}`,
      },
    }),
    remove: (entry, from) => ({
      key: entry.key,
      condition: holdersCondition(from),
      change: { set: {}, remove: [] },
      as: "delete",
    }),
  };
}

function isRecordKey(sk: string): boolean {
  const [kind, namespace, ...more] = sk.split("/");
  if (kind !== SORT_KEY || more.length > 0) return false;
  return namespace === undefined || decoded(namespace) !== undefined;
}

function decoded(namespace: string): string | undefined {
  try {
    return decodeURIComponent(namespace);
  } catch {
    return undefined;
  }
}

function queueCondition({ passage }: Grant): Condition[] {
  if (passage === undefined) return [NOBODY_QUEUED];
  if (passage.kind === "barge") return [];
  const below = { kind: "below", attribute: "served", value: n(passage.ticket) } as const;
  return [any(isAbsent("served"), below)];
}

const ASKED = Object.freeze({ resign: "resignAsked", prefer: "preferAsked" });

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

// A write that changes what rivals judge the holder by is applied once, or never (R5).
function changeCondition(held: Held, renewal: Renewal): Condition {
  return all(
    heldCondition(held),
    equals("version", n(renewal.version)),
    NO_SESSION,
    ...newerData(renewal.data),
  );
}

function heldCondition(held: Held): Condition {
  return all(equals("holder", s(held.holder)), equals("fence", n(held.fence)));
}

function holdersCondition(from: Holders): Condition {
  return any(
    ...(from.known === undefined ? [] : [heldCondition(from.known)]),
    ...(from.maybe ?? []).map((holder) => equals("holder", s(holder))),
    ...(from.watched === undefined ? [] : [watchedCondition(from.watched)]),
  );
}

function newerData(data: NumberedData | undefined): Condition[] {
  return data === undefined ? [] : [{ kind: "below", attribute: "dataSeq", value: n(data.seq) }];
}

function expiresAt(wallMs: number, leaseMs: number): AttributeValue {
  return n(Math.ceil((wallMs + leaseMs + RETENTION_MS) / 1000));
}

// The record of a task is all that says which occurrences have run: deleted by TTL, it would let them run
// again. There is one for each task, not for each occurrence.
function lasting({ kind }: RecordRef, change: Change): Change {
  if (kind !== "once") return change;
  const { expiresAt: _, ...set } = change.set;
  return { set, remove: [...change.remove, "expiresAt"] };
}

// A grant writes everything that a holder lives by: whatever it left, the next holder would be
// judged by the former one's lease length, or by a session that has ended.
function grantChange(grant: Grant): Change {
  return {
    set: {
      v: { N: LAYOUT },
      holder: s(grant.holder),
      version: NEXT_VERSION,
      fence: { incrementFrom: grant.fenceSeed.toString() },
      leaseMs: n(grant.leaseMs),
      owner: s(grant.owner),
      acquiredAt: s(grant.acquiredAt),
      mark: s(grant.holder),
      dataSeq: n(0),
      expiresAt: expiresAt(grant.wallMs, grant.leaseMs),
      ...(grant.passage?.kind === "ticket" ? { served: n(grant.passage.ticket) } : {}),
      ...grantedData(grant.data, grant.existingData),
    },
    remove: ["session", ...(grant.existingData === "replace" ? dataRemove(grant.data) : [])],
  };
}

function grantedData(value: unknown, existing: ExistingData): Change["set"] {
  if (value === undefined) return {};
  return {
    data: existing === "keep" ? { orElse: encodeJson(value) } : encodeJson(value),
  };
}

function renewalChange(renewal: Renewal): Change {
  return {
    set: {
      version: NEXT_VERSION,
      mark: s(renewal.mark),
      expiresAt: expiresAt(renewal.wallMs, renewal.leaseMs),
      ...(renewal.data === undefined ? {} : dataSet(renewal.data)),
    },
    remove: renewal.data === undefined ? [] : dataRemove(renewal.data.value),
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

function withSet(change: Change, set: Change["set"]): Change {
  return { set: { ...change.set, ...set }, remove: change.remove };
}

/** Reads an item; pure, and never throws: what it cannot read it names (R12). */
function readNative(item: Item | undefined): Found {
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
  if (
    ["tail", "served"].some((end) => item[end] !== undefined && numberIn(item, end) === undefined)
  ) {
    return { state: "foreign", found: "has no whole number in `tail` or `served`" };
  }
  const known = {
    version,
    fence,
    queue: { tail: numberIn(item, "tail"), served: numberIn(item, "served") },
    lastHolder: stringIn(item, "lastHolder"),
    owner: stringIn(item, "owner"),
    acquiredAt: stringIn(item, "acquiredAt"),
    data: item["data"] === undefined ? undefined : decodeJson(item["data"]),
    resignAsked: stringIn(item, ASKED.resign),
    preferAsked: stringIn(item, ASKED.prefer),
    forced: forcedIn(item),
    asked: askedIn(item),
  };
  const session = stringIn(item, "session");
  if (item["session"] !== undefined && (session === undefined || item["holder"] === undefined)) {
    return {
      state: "foreign",
      found: "names a session by no readable id, or has one and no holder",
    };
  }
  if (item["holder"] === undefined) return { state: "free", ...known };
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
    session,
    mark: stringIn(item, "mark"),
    dataSeq: Number(numberIn(item, "dataSeq") ?? 0n),
  };
}

function askedIn(item: Item): string[] | undefined {
  const asked = Object.keys(item).filter((attribute) => attribute.startsWith(ASKED_ON_SESSION));
  if (asked.length === 0) return undefined;
  return asked.map((attribute) => attribute.slice(ASKED_ON_SESSION.length));
}
