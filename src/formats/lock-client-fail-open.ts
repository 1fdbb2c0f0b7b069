/**
 * The record of the npm package dynamodb-lock-client, kind "fail open":
 * spec/formats/lock-client-fail-open.md.
 *
 * What it does not do: a peer's heartbeat that lands after its own release takes the lock back for a lease,
 * with nobody in it (R14). Peers with `trustLocalTime` compare wall clocks (R11); each write here carries
 * the time that they ask for, but one whose clock is ahead by more than what is left of a lease takes it
 * from its holder, whom only the fence then stops. The fencing token begins at 1 with a new record, so
 * whoever deletes a record starts it again (R9), and TTL has to be off (R10). There are no user data: a
 * peer's next write would wipe them.
 *
 * `owner` is the owner's label, `/` and an id that is new with every grant; to a peer a label like any
 * other, here the holder. `guid` is the version: 64 bytes, of which ours begin with the mark of the write
 * that set them. A record is free when its length is 1 ms.
 *
 * | step | request | condition | change |
 * | --- | --- | --- | --- |
 * | claim, unseen | update | absent, or released | token + 1, and all else |
 * | claim, seen free | update | released, guid and token as seen | the same |
 * | take over | update | guid as watched | the same |
 * | hand over | update | not released, owner and token as granted | the same |
 * | renew; another length | update | not released, owner, token, guid the last known or this write's own | guid, length, time |
 * | release | update | not released, owner and token as granted | length 1, time |
 */
import type {
  Grant,
  Held,
  Holders,
  LeaseFormat,
  Onto,
  RecordRef,
  Renewal,
} from "../core/record/format.js";
import type {
  CompositeName,
  FormatTypes,
  LockFormat,
  LockName,
} from "../core/record/format-types.js";
import type { Found } from "../core/record/record.js";
import type { AttributeValue, Change, Condition, Item, Write } from "../platform/table.js";
import {
  all,
  any,
  checkKeys,
  equals,
  foreignRef,
  idIn,
  invalid,
  isAbsent,
  isPresent,
  type KeyNames,
  nameIn,
  s,
  stringIn,
  withoutSessions,
} from "./foreign.js";
import { looksLike } from "./recognise.js";

/** The leases of {@link lockClientFailOpen}: a fence, and no user data. */
export interface TokenLeases<Name extends LockName = string> extends FormatTypes {
  readonly name: Name;
  readonly data: undefined;
  readonly attributes: undefined;
  readonly fence: bigint;
}

const NAME = "lock-client-fail-open";
const OWNER = "owner";
const GUID = "guid";
const TOKEN = "fencingToken";
const LEASE = "leaseDurationMs";
const TIME = "lockAcquiredTimeUnixMs";
const GUID_BYTES = 64;
const RELEASED_MS = 1;

const n = (value: number | bigint): AttributeValue => ({ N: value.toString() });

/**
 * Shares a table with `FailOpen` of the npm package dynamodb-lock-client. Its fencing token is the fence,
 * and goes on where it stood. There are no user data. Lengths of time are this library's, since the package
 * asks for them: 30 s, renewed after a third.
 *
 * One write to acquire, to renew and to release, as native locks. Beside peers with `trustLocalTime` all
 * clocks have to be right. Throws `invalid-argument`. See docs/migrating-from-dynamodb-lock-client.md.
 */
export function lockClientFailOpen(
  keys?: KeyNames & { readonly sortKeyName?: undefined },
): LockFormat<TokenLeases>;
export function lockClientFailOpen(
  keys: KeyNames & { readonly sortKeyName: string },
): LockFormat<TokenLeases<CompositeName>>;
export function lockClientFailOpen(keys: KeyNames = {}): LockFormat {
  const { partitionKeyName: pk = "id", sortKeyName: sk } = keys;
  checkKeys(pk, sk, [OWNER, GUID, TOKEN, LEASE, TIME]);
  const format: LeaseFormat = {
    name: NAME,
    schema: { keys: { pk, sk: sk ?? null }, ttlAttribute: null },
    pollAttributes: [OWNER, GUID, TOKEN, LEASE],
    refOf: (kind, name) => foreignRef(NAME, kind, name, pk, sk),
    nameOf: (_kind, item) => nameIn(item, pk, sk),
    prefixOf: (_kind, value) => (value === "" ? undefined : { attribute: pk, value }),
    holderOf: (owner, id) => `${owner}/${id}`,
    read: readRecord,
    checkData() {
      throw invalid(`Records of format "${NAME}" have no room for user data.`);
    },
    claim: (ref, grant, onto) => granting(ref, grant, ontoCondition(onto, ref)),
    takeOver: (ref, grant, { version }) => granting(ref, grant, seen(version)),
    handOver: (ref, grant, from) => granting(ref, grant, holdersCondition(from)),
    renew: beat,
    changeLength: beat,
    free: (ref, from, { wallMs }) => ({
      key: ref.key,
      condition: holdersCondition(from),
      // The guid stays: waiters of the package name it when they have slept for the lease that they read.
      change: { set: { [LEASE]: n(RELEASED_MS), [TIME]: timeOf(wallMs) }, remove: [] },
    }),
    heldCondition,
    ...withoutSessions(NAME),
  };
  return format;
}

const IS_HELD: Condition = { kind: "at-least", attribute: LEASE, value: n(RELEASED_MS + 1) };
const IS_FREE: Condition = all(
  equals(LEASE, n(RELEASED_MS)),
  isPresent(GUID),
  isPresent(TOKEN),
  isPresent(OWNER),
);

function ontoCondition(onto: Onto, ref: RecordRef): Condition {
  const isNothing = all(...Object.keys(ref.key).map(isAbsent));
  switch (onto.kind) {
    case "blind":
      return any(isNothing, IS_FREE);
    case "existing":
      return IS_FREE;
    case "absent":
      return isNothing;
    case "free":
      return all(IS_FREE, seen(onto.version), equals(TOKEN, n(onto.fence)));
  }
}

function seen(version: string | bigint): Condition {
  return equals(GUID, { B: Buffer.from(String(version), "hex") });
}

function holdersCondition({ known, maybe = [], watched }: Holders): Condition {
  return any(
    ...(known === undefined ? [] : [heldCondition(known)]),
    ...maybe.map((holder) => all(equals(OWNER, s(holder)), IS_HELD)),
    ...(watched === undefined ? [] : [seen(watched.version)]),
  );
}

// A release leaves owner, token and guid as they were: the length alone says that it is over.
function heldCondition({ holder, fence }: Held): Condition {
  return all(equals(OWNER, s(holder)), equals(TOKEN, n(fence)), IS_HELD);
}

function granting(ref: RecordRef, grant: Grant, condition: Condition): Write {
  const { holder, leaseMs, wallMs } = grant;
  const set: Change["set"] = {
    [OWNER]: s(holder),
    [GUID]: { B: guidOf(idIn(holder)) },
    [TOKEN]: { incrementFrom: "0" },
    [LEASE]: n(leaseMs),
    [TIME]: timeOf(wallMs),
  };
  return { key: ref.key, condition, change: { set, remove: [] } };
}

/**
 * The guid it names is the last known one, or this write's own: sent again it is harmless, and one that
 * lands late, after another, fails, so that no guid comes back.
 */
function beat(ref: RecordRef, held: Held, { mark, version, leaseMs, wallMs }: Renewal): Write {
  const guid = guidOf(mark);
  return {
    key: ref.key,
    condition: all(heldCondition(held), any(seen(version), equals(GUID, { B: guid }))),
    change: {
      set: { [GUID]: { B: guid }, [LEASE]: n(leaseMs), [TIME]: timeOf(wallMs) },
      remove: [],
    },
  };
}

// A peer with `trustLocalTime` takes what lacks it at once, however alive its holder is.
function timeOf(wallMs: number): AttributeValue {
  return n(Math.floor(wallMs));
}

/** 64 bytes, as the package has them: the mark of a write, and zeros. */
function guidOf(mark: string): Uint8Array {
  const bytes = new Uint8Array(GUID_BYTES);
  bytes.set(Buffer.from(mark).subarray(0, GUID_BYTES));
  return bytes;
}

/** The mark in a guid of ours; of a peer's random bytes, something that is no mark. */
function markIn(guid: Uint8Array): string {
  let end = guid.length;
  while (guid[end - 1] === 0) end -= 1;
  return Buffer.from(guid.subarray(0, end)).toString("utf8");
}

/** Reads an item; pure, and never throws: what it cannot read it names (R12). */
function readRecord(item: Item | undefined): Found {
  if (item === undefined) return { state: "absent" };
  const owner = stringIn(item, OWNER);
  const guid = item[GUID];
  const fence = wholeIn(item, TOKEN);
  const leaseMs = wholeIn(item, LEASE);
  if (owner === undefined || guid === undefined || !("B" in guid)) {
    return {
      state: "foreign",
      found: `has no \`${OWNER}\`, or no bytes in \`${GUID}\`${looksLike(item, NAME)}`,
    };
  }
  if (guid.B.length !== GUID_BYTES) {
    return { state: "foreign", found: `has no ${GUID_BYTES} bytes in \`${GUID}\`` };
  }
  if (fence === undefined || leaseMs === undefined || leaseMs < RELEASED_MS) {
    return { state: "foreign", found: `has no whole number in \`${TOKEN}\` or \`${LEASE}\`` };
  }
  const known = {
    version: Buffer.from(guid.B).toString("hex"),
    fence,
    queue: { tail: undefined, served: undefined },
    owner,
    acquiredAt: undefined,
    data: undefined,
  };
  if (leaseMs === BigInt(RELEASED_MS)) return { state: "free", ...known, lastHolder: owner };
  return {
    state: "held",
    ...known,
    holder: owner,
    lastHolder: undefined,
    leaseMs: Number(leaseMs),
    session: undefined,
    mark: markIn(guid.B),
    dataSeq: 0,
  };
}

function wholeIn(item: Item, attribute: string): bigint | undefined {
  const value = item[attribute];
  return value !== undefined && "N" in value && /^\d{1,38}$/.test(value.N)
    ? BigInt(value.N)
    : undefined;
}
