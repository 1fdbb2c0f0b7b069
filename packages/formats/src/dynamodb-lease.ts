/**
 * The record of dynamodb-lease, a lock client for Rust (0.22 and before): spec/formats/dynamodb-lease.md.
 *
 * Not promised: peers decide by the wall clock alone. A peer whose clock is ahead by more than the rest of a
 * lease takes the lease from its holder (R3, R4, R11), and no write of this library can prevent that. This
 * library takes a lease over only after its expiry by the wall clock, with a margin, and after watching an unchanged
 * version for a lease, or once the table's time is past the expiry by `maxClockError`. Grants have no number, so a lease has no fence (R9). The TTL attribute is the
 * expiry itself, so DynamoDB may delete a lease whose holder's clock is behind by more than the lease (R10). An
 * abandoned claim of an absent record may land late, and then holds until its expiry (R14). A peer never checks
 * its own deadline (R2). The format has no user data, because a grant replaces the whole item.
 *
 * A grant of this library also writes `holder`: the owner's label, `/` and an id that is new with every grant.
 * A peer's grant removes `holder`, and a peer renews its own grants only. So `holder`, if present, names the
 * current grant.
 *
 * | step | request | condition | change |
 * | --- | --- | --- | --- |
 * | claim | put | absent | the whole item |
 * | take over | put | version as watched | the same |
 * | hand over | put | holder as granted | the same |
 * | renew; another length | update | holder, version the last known or this write's own | version, expiry |
 * | release | delete | holder as granted | |
 */

import type { Duration } from "holdfast";
import {
  type AttributeValue,
  type Condition,
  checkNames,
  durationMs,
  type FormatFacts,
  type FormatTypes,
  type Found,
  type Grant,
  type Held,
  type Holders,
  type Item,
  type LeaseDefaults,
  type LeaseFormat,
  type LeaseWrites,
  type LockFormat,
  looksLike,
  type Onto,
  type OptionNames,
  type RecordCodec,
  type RecordRef,
  type Renewal,
  type Version,
  type Watched,
  type Write,
} from "holdfast/internal";
import {
  type CompanionKind,
  checkCompanion,
  companion,
  type FenceOf,
  type Fences,
  longestNameWith,
  namesWith,
  STORED_FENCES,
} from "./companion.js";
import { all, any, equals, idIn, invalid, isAbsent, isPresent, s, stringIn } from "./foreign.js";

/** The types of {@link dynamodbLease}: no fence by default, and no user data. */
export interface BareLeases<Fence extends bigint | undefined = undefined> extends FormatTypes {
  readonly name: string;
  readonly data: undefined;
  readonly attributes: undefined;
  readonly fence: Fence;
  readonly hasCompanion: Fence extends bigint ? true : false;
}

/** Options of {@link dynamodbLease}: facts about the table that its records do not contain. */
export interface DynamodbLeaseOptions {
  /**
   * The longest lease of any client of the table. A waiter watches an unchanged version for this time. Default 60 s,
   * the Rust client's default.
   */
  readonly longestLease?: Duration | undefined;
  /** The largest difference between the clocks of two machines. Default 2 s. */
  readonly maxClockSkew?: Duration | undefined;
  /** As in `awsLockClient()`: `"companion"` for fences of this library's grants. Default: no fences. */
  readonly fences?: Fences;
}

const OPTION_NAMES: OptionNames<DynamodbLeaseOptions> = {
  longestLease: true,
  maxClockSkew: true,
  fences: true,
};

const NAME = "dynamodb-lease";
// Constants, because the Rust client fixes its attribute names at compile time.
const KEY = "key";
const EXPIRY = "lease_expiry";
const VERSION = "lease_version";
const HOLDER = "holder";

/** The Rust client's: lease 60 s, renewed after half of it, polled every second, without an end. */
const DEFAULTS: LeaseDefaults = Object.freeze({
  lease: "60s",
  renewsPerLease: 2,
  wait: Number.POSITIVE_INFINITY,
  minPoll: "1s",
  maxPoll: "1s",
});

/**
 * Shares a table with dynamodb-lease for Rust. The format has no user data, and a lease has no fence without
 * `fences: "companion"`. All clocks have to be right within `maxClockSkew`, because peers use wall clocks
 * alone. A release deletes the record. The lengths of time are the Rust client's: lease 60 s, renewal half of
 * the lease, wait for ever, poll 1 s. The end of a lease is rounded up to whole seconds for peers.
 *
 * Costs as much as native locks, one request a step. Also needs `dynamodb:PutItem` and `dynamodb:DeleteItem`.
 * The Rust client refuses a table that fails `checkTable()` with this format. Throws `invalid-argument`.
 */
export function dynamodbLease<const O extends DynamodbLeaseOptions = DynamodbLeaseOptions>(
  options?: O,
): LockFormat<BareLeases<FenceOf<O>>>;
export function dynamodbLease(options: DynamodbLeaseOptions = {}): LockFormat {
  const { fences } = checkNames("dynamodbLease()", options, OPTION_NAMES);
  checkCompanion("fences", fences);
  const longestMs = durationMs("longestLease", options.longestLease ?? "60s", LENGTHS);
  const skewMs = durationMs("maxClockSkew", options.maxClockSkew ?? "2s", SKEWS);
  const companions = fences === undefined ? [] : [STORED_FENCES];
  const format: LeaseFormat = {
    name: NAME,
    facts: { ...FACTS, longestNameBytes: longestNameWith(companions) },
    codec: codecOf(longestMs, skewMs, companions),
    lease: LEASE_WRITES,
    // A companion has no expiry, so TTL never deletes it.
    ...(fences === undefined ? {} : { fenceCounter: companion(KEY, undefined, {}) }),
  };
  return format;
}

const FACTS: FormatFacts = Object.freeze({
  schema: { keys: { pk: KEY, sk: null }, ttlAttribute: EXPIRY },
  writes: { hold: ["PutItem", "UpdateItem", "DeleteItem"], free: ["DeleteItem"] },
  defaults: DEFAULTS,
  recordsHaveFences: false,
  releaseMayDelete: true,
  freeNeedsMark: false,
  endsByWallClock: true,
});

function codecOf(
  longestMs: number,
  skewMs: number,
  companions: readonly CompanionKind[],
): RecordCodec {
  return {
    pollAttributes: [EXPIRY, VERSION, HOLDER],
    ...namesWith(NAME, KEY, undefined, companions),
    read: (item) => readRecord(item, longestMs, skewMs),
    checkData() {
      throw invalid(`Records of format "${NAME}" cannot store user data. Leave out \`data\`.`);
    },
  };
}

const DAY_MS = 24 * 3_600_000;
const LENGTHS = { leastMs: 100, mostMs: 365 * DAY_MS };
const SKEWS = { leastMs: 0, mostMs: DAY_MS };
const NEVER: Condition = all(isAbsent(KEY), isPresent(KEY));

const LEASE_WRITES: LeaseWrites = Object.freeze({
  // An existing item is never free, so a claim that requires an existing record can never be applied.
  claim: (ref: RecordRef, grant: Grant, onto: Onto) =>
    granting(ref, grant, onto.kind === "existing" ? NEVER : isAbsent(KEY)),
  takeOver: (ref: RecordRef, grant: Grant, { version }: Watched) =>
    granting(ref, grant, seen(version)),
  handOver: (ref: RecordRef, grant: Grant, from: Holders) =>
    granting(ref, grant, holdersCondition(from)),
  renew: beat,
  changeLength: beat,
  free: (ref: RecordRef, from: Holders): Write => ({
    key: ref.key,
    condition: holdersCondition(from),
    change: { set: {}, remove: [] },
    as: "delete",
  }),
  heldCondition,
});

function seen(version: Version): Condition {
  return equals(VERSION, s(String(version)));
}

function heldCondition({ holder }: Held): Condition {
  return equals(HOLDER, s(holder));
}

function holdersCondition({ known, maybe = [], watched }: Holders): Condition {
  const ids = [...(known === undefined ? [] : [known.holder]), ...maybe];
  return any(
    ...ids.map((holder) => heldCondition({ holder, fence: 0n })),
    ...(watched === undefined ? [] : [seen(watched.version)]),
  );
}

function granting(ref: RecordRef, grant: Grant, condition: Condition): Write {
  const { holder } = grant;
  const set = {
    [VERSION]: s(idIn(holder)),
    [EXPIRY]: expiryOf(grant),
    [HOLDER]: s(holder),
  };
  return { key: ref.key, condition, change: { set, remove: [] }, as: "put" };
}

/** Names the version before the write, or the write's own, so that an older version never returns. */
function beat(ref: RecordRef, held: Held, renewal: Renewal): Write {
  const { mark, version } = renewal;
  return {
    key: ref.key,
    condition: all(heldCondition(held), any(seen(version), seen(mark))),
    change: { set: { [VERSION]: s(mark), [EXPIRY]: expiryOf(renewal) }, remove: [] },
  };
}

// A lease ends a second after its expiry: a peer rounds its clock down to whole seconds, and requires more than the
// expiry.
const AFTER_EXPIRY_MS = 1000;

/**
 * Returns the expiry in whole seconds, rounded up: by the wall clock, as peers write it, or, if that clock is not within the
 * second before the end in the table's time, by the nearer end of that second. The end in the table's time alone would
 * make peers wait a second longer than for their own leases. TTL may delete a lease up to a second before its end: that of
 * the Rust client, which rounds down, and ours if the wall clock is as much behind the table's time.
 */
function expiryOf({ endMs, wallMs, leaseMs }: Grant | Renewal): AttributeValue {
  const byWallMs = wallMs + leaseMs;
  const ms =
    endMs === undefined ? byWallMs : Math.min(Math.max(byWallMs, endMs - AFTER_EXPIRY_MS), endMs);
  return { N: String(Math.ceil(ms / 1000)) };
}

/** Reads an item. Pure; never throws: describes an unreadable item instead (R12). */
function readRecord(item: Item | undefined, longestMs: number, skewMs: number): Found {
  if (item === undefined) return { state: "absent" };
  const version = stringIn(item, VERSION);
  const expiry = item[EXPIRY];
  // A peer claims any item without a version as free; this library treats such an item as foreign.
  if (version === undefined || expiry === undefined || !("N" in expiry)) {
    return {
      state: "foreign",
      found: `has no \`${VERSION}\`, or no number in \`${EXPIRY}\`${looksLike(item, NAME)}`,
    };
  }
  if (!/^\d{1,12}$/.test(expiry.N)) {
    return { state: "foreign", found: `has no whole seconds in \`${EXPIRY}\`` };
  }
  const holder = stringIn(item, HOLDER);
  return {
    state: "held",
    version,
    fence: 0n,
    queue: { tail: undefined, served: undefined },
    lastHolder: undefined,
    owner: holder,
    acquiredAt: undefined,
    data: undefined,
    holder: holder ?? PEER,
    leaseMs: longestMs,
    endMs: Number(expiry.N) * 1000 + AFTER_EXPIRY_MS,
    notBeforeWallMs: Number(expiry.N) * 1000 + AFTER_EXPIRY_MS + skewMs,
    session: undefined,
    mark: version,
    dataSeq: 0,
  };
}

// Peers have no name; only the version tells their grants apart.
const PEER = "a peer";
