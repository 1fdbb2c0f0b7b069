/**
 * The record of the npm package dynamodb-lock-client, kind "fail open": spec/formats/lock-client-fail-open.md.
 *
 * Not promised: a peer's heartbeat that lands after its own release takes the lock again for a lease, without a
 * holder (R14). Peers with `trustLocalTime` compare wall clocks (R11). Each write of this library carries the
 * time for such peers, but a peer whose clock is ahead by more than the rest of a lease takes the lock from its
 * holder, and only the fence stops the former holder. The fencing token of a new record is 1, so deleting a
 * record restarts the fences (R9), and TTL has to be off (R10). The format has no user data, because a peer's
 * next write would delete them.
 *
 * `owner` is the owner's label, `/` and an id that is new with every grant. For a peer it is an ordinary label;
 * for this library it is the holder. `guid` is the version: 64 bytes, which in writes of this library begin
 * with the mark of the write. A record with a length of 1 ms is free.
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
import {
  type AttributeValue,
  type Change,
  type CompositeName,
  type Condition,
  checkNames,
  type FormatTypes,
  type Found,
  type FreeOptions,
  type Grant,
  type Held,
  type Holders,
  type Item,
  type LeaseFormat,
  type LeaseWrites,
  type LockFormat,
  type LockName,
  looksLike,
  type Onto,
  type OptionNames,
  type RecordRef,
  type Renewal,
  type Watched,
  type Write,
} from "holdfast/internal";
import { checkCompanion, longestNameWith, namesWith } from "./companion.js";
import {
  all,
  any,
  COUNT_DIGITS,
  checkKeys,
  equals,
  idIn,
  invalid,
  isAbsent,
  isCount,
  isPresent,
  KEY_NAMES,
  type KeyNames,
  LENGTH_DIGITS,
  n,
  s,
  stringIn,
  wholeIn,
} from "./foreign.js";
import { type KeptObservations, SIGHTINGS, sightingNotes } from "./sightings.js";

/** The types of {@link lockClientFailOpen}: a fence, and no user data. */
export interface TokenLeases<Name extends LockName = string> extends FormatTypes {
  readonly name: Name;
  readonly data: undefined;
  readonly attributes: undefined;
  readonly fence: bigint;
}

/** Options of {@link lockClientFailOpen}. */
export interface FailOpenOptions extends KeyNames {
  /** As in `awsLockClient()`: `"companion"` keeps observations in an item beside each record. Default: nothing is kept. */
  readonly observations?: KeptObservations;
}

const OPTION_NAMES: OptionNames<FailOpenOptions> = { ...KEY_NAMES, observations: true };
const NAME = "lock-client-fail-open";
const OWNER = "owner";
const GUID = "guid";
const TOKEN = "fencingToken";
const LEASE = "leaseDurationMs";
const TIME = "lockAcquiredTimeUnixMs";
const GUID_BYTES = 64;
const RELEASED_MS = 1;

/**
 * Shares a table with `FailOpen` of the npm package dynamodb-lock-client. The package's fencing token is the
 * fence, and continues from its current value. The format has no user data. The lengths of time are this
 * library's, since the package has no defaults: lease 30 s, renewed after a third.
 *
 * Costs one write to acquire, to renew and to release, as native locks. `observations: "companion"` costs a refused
 * caller one more write. With `trustLocalTime` peers, all clocks
 * have to be right. Throws `invalid-argument`. See docs/migration/from-dynamodb-lock-client.md.
 */
export function lockClientFailOpen(
  options?: FailOpenOptions & { readonly sortKeyName?: undefined },
): LockFormat<TokenLeases>;
export function lockClientFailOpen(
  options: FailOpenOptions & { readonly sortKeyName: string },
): LockFormat<TokenLeases<CompositeName>>;
export function lockClientFailOpen(options: FailOpenOptions = {}): LockFormat {
  checkNames("lockClientFailOpen()", options, OPTION_NAMES);
  const { partitionKeyName: pk = "id", sortKeyName: sk, observations } = options;
  checkCompanion("observations", observations);
  const companions = observations === undefined ? [] : [SIGHTINGS];
  const ofCompanions = companions.flatMap(({ attributes }) => attributes);
  checkKeys(pk, sk, [OWNER, GUID, TOKEN, LEASE, TIME, ...ofCompanions]);
  const format: LeaseFormat = {
    name: NAME,
    facts: {
      schema: { keys: { pk, sk: sk ?? null }, ttlAttribute: null },
      writes: { hold: ["UpdateItem"], free: ["UpdateItem"] },
      recordsHaveFences: true,
      releaseMayDelete: false,
      freeNeedsMark: false,
      longestNameBytes: longestNameWith(companions),
    },
    codec: {
      pollAttributes: [OWNER, GUID, TOKEN, LEASE],
      ...namesWith(NAME, pk, sk, companions),
      read: readRecord,
      checkData() {
        throw invalid(`Records of format "${NAME}" cannot store user data. Leave out \`data\`.`);
      },
    },
    lease: LEASE_WRITES,
    ...(observations === undefined ? {} : { sightings: sightingNotes(pk, sk, LOOKS) }),
  };
  return format;
}

// Looks like a released lock to clients that list the table.
const LOOKS: Item = Object.freeze({
  [OWNER]: s("holdfast"),
  [GUID]: { B: new Uint8Array(GUID_BYTES) },
  [TOKEN]: n(0),
  [LEASE]: n(RELEASED_MS),
  [TIME]: n(0),
});

const LEASE_WRITES: LeaseWrites = Object.freeze({
  claim: (ref: RecordRef, grant: Grant, onto: Onto) =>
    granting(ref, grant, ontoCondition(onto, ref)),
  takeOver: (ref: RecordRef, grant: Grant, { version }: Watched) =>
    granting(ref, grant, seen(version)),
  handOver: (ref: RecordRef, grant: Grant, from: Holders) =>
    granting(ref, grant, holdersCondition(from)),
  renew: beat,
  changeLength: beat,
  free: (ref: RecordRef, from: Holders, { wallMs }: FreeOptions) => ({
    key: ref.key,
    condition: holdersCondition(from),
    // The guid stays: the package's waiters name the guid of their first read after their sleep of one lease.
    change: { set: { [LEASE]: n(RELEASED_MS), [TIME]: timeOf(wallMs) }, remove: [] },
  }),
  heldCondition,
});

const IS_HELD: Condition = { kind: "at-least", attribute: LEASE, value: n(RELEASED_MS + 1) };
const IS_FREE: Condition = all(
  equals(LEASE, n(RELEASED_MS)),
  isPresent(GUID),
  isCount(TOKEN),
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

// A release keeps owner, token and guid: only the length shows the release.
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
 * Names the last known guid or the write's own. A repeated write is harmless, and a late write fails after
 * another one, so an older guid never returns.
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

// A peer with `trustLocalTime` takes a record without a time at once, even from a live holder.
function timeOf(wallMs: number): AttributeValue {
  return n(Math.floor(wallMs));
}

/** Makes a guid of the package's 64 bytes: the mark of a write, and zeros. */
function guidOf(mark: string): Uint8Array {
  const bytes = new Uint8Array(GUID_BYTES);
  bytes.set(Buffer.from(mark).subarray(0, GUID_BYTES));
  return bytes;
}

/** The mark in a guid of this library; for a peer's random bytes, a text that matches no mark. */
function markIn(guid: Uint8Array): string {
  let end = guid.length;
  while (guid[end - 1] === 0) end -= 1;
  return Buffer.from(guid.subarray(0, end)).toString("utf8");
}

/** Reads an item. Pure; never throws: describes an unreadable item instead (R12). */
function readRecord(item: Item | undefined): Found {
  if (item === undefined) return { state: "absent" };
  const owner = stringIn(item, OWNER);
  const guid = item[GUID];
  const fence = wholeIn(item, TOKEN, COUNT_DIGITS);
  const leaseMs = wholeIn(item, LEASE, LENGTH_DIGITS);
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
    return {
      state: "foreign",
      found: `has no whole number, or too large a number, in \`${TOKEN}\` or \`${LEASE}\``,
    };
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
