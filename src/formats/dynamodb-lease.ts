/**
 * The record of dynamodb-lease, a lock client for Rust (0.22 and before): spec/formats/dynamodb-lease.md.
 *
 * What it does not do: peers judge by the wall clock alone. One whose clock is ahead by more than what is
 * left of a lease takes it from its holder (R3, R4, R11), and no write here can keep it from that. Here a
 * lease is taken only once its expiry has passed by the wall clock, with a margin, and its version was
 * also watched standing still for a lease. Its grants are not numbered, so a lease has no fence (R9).
 * The TTL attribute is the expiry itself, so DynamoDB may delete a lease whose holder's clock is behind by
 * more than the lease (R10). A claim of what is absent that was given up may land late, and then holds
 * until its expiry (R14). A peer never looks at its own deadline (R2). There are no user data: a grant
 * replaces the whole item.
 *
 * A grant of ours carries `holder` besides: the owner's label, `/` and an id that is new with every
 * grant. A peer's grant replaces it with all else, and its renewals are of its own grants, so what it
 * names is whose grant this is.
 *
 * | step | request | condition | change |
 * | --- | --- | --- | --- |
 * | claim | put | absent | the whole item |
 * | take over | put | version as watched | the same |
 * | hand over | put | holder as granted | the same |
 * | renew; another length | update | holder, version the last known or this write's own | version, expiry |
 * | release | delete | holder as granted | |
 */

import type {
  Grant,
  Held,
  Holders,
  LeaseDefaults,
  LeaseFormat,
  RecordRef,
  Renewal,
} from "../core/record/format.js";
import type { FormatTypes, LockFormat } from "../core/record/format-types.js";
import type { Found, Version } from "../core/record/record.js";
import { type Duration, durationMs } from "../internal/duration.js";
import type { AttributeValue, Condition, Item, Write } from "../platform/table.js";
import {
  checkFences,
  checkNoCompanion,
  companion,
  type FenceOf,
  type Fences,
  isCompanion,
} from "./companion.js";
import {
  all,
  any,
  equals,
  foreignRef,
  idIn,
  invalid,
  isAbsent,
  isPresent,
  nameIn,
  s,
  stringIn,
  withoutSessions,
} from "./foreign.js";
import { looksLike } from "./recognise.js";

/** The leases of {@link dynamodbLease}: no fence by default, and no user data. */
export interface BareLeases<Fence extends bigint | undefined = undefined> extends FormatTypes {
  readonly name: string;
  readonly data: undefined;
  readonly attributes: undefined;
  readonly fence: Fence;
  readonly hasCompanion: Fence extends bigint ? true : false;
}

/** What the records of {@link dynamodbLease} do not say themselves. */
export interface DynamodbLeaseOptions {
  /**
   * The longest lease that any client of the table asks for: for so long a version has to stand still
   * before its lease is taken. Default 60 s, the Rust client's.
   */
  readonly longestLease?: Duration | undefined;
  /** By how much the clocks of two machines may differ. Default 2 s. */
  readonly maxClockSkew?: Duration | undefined;
  /** As of `awsLockClient()`: `"companion"` for fences of this library's grants. Default: none. */
  readonly fences?: Fences;
}

const NAME = "dynamodb-lease";
// No name is chosen: the Rust client has them all at compile time.
const KEY = "key";
const EXPIRY = "lease_expiry";
const VERSION = "lease_version";
const HOLDER = "holder";

/** Their own: 60 s, renewed after half of it, a look every second, for ever. */
const DEFAULTS: LeaseDefaults = Object.freeze({
  lease: "60s",
  renewsPerLease: 2,
  wait: Number.POSITIVE_INFINITY,
  minPoll: "1s",
  maxPoll: "1s",
});

/**
 * Shares a table with dynamodb-lease for Rust. There are no user data, and a lease has no fence. All
 * clocks have to be right within `maxClockSkew`: peers go by them alone. A release deletes the record.
 * Lengths of time are the Rust client's: lease 60 s, renewal half of it, wait for ever, poll 1 s. The
 * end of a lease is rounded up to whole seconds for peers.
 *
 * Costs what native locks cost, one request a step, and needs `dynamodb:PutItem` and
 * `dynamodb:DeleteItem` besides. The Rust client refuses a table that `checkTable()` with this format
 * does not pass. Throws `invalid-argument`.
 */
export function dynamodbLease<const O extends DynamodbLeaseOptions = DynamodbLeaseOptions>(
  options?: O,
): LockFormat<BareLeases<FenceOf<O>>>;
export function dynamodbLease(options: DynamodbLeaseOptions = {}): LockFormat {
  const { fences } = options;
  checkFences(fences);
  const longestMs = durationMs("longestLease", options.longestLease ?? "60s", LENGTHS);
  const skewMs = durationMs("maxClockSkew", options.maxClockSkew ?? "2s", SKEWS);
  const format: LeaseFormat = {
    name: NAME,
    isFenced: false,
    // It has no expiry, so TTL leaves it alone.
    ...(fences === undefined ? {} : { counter: companion(KEY, undefined, {}) }),
    deletes: true,
    schema: { keys: { pk: KEY, sk: null }, ttlAttribute: EXPIRY },
    writes: { hold: ["PutItem", "UpdateItem", "DeleteItem"], free: ["DeleteItem"] },
    defaults: DEFAULTS,
    pollAttributes: [EXPIRY, VERSION, HOLDER],
    refOf(kind, name) {
      const ref = foreignRef(NAME, kind, name, KEY, undefined);
      if (fences !== undefined) checkNoCompanion(name);
      return ref;
    },
    nameOf(_kind, item) {
      const name = nameIn(item, KEY, undefined);
      return fences !== undefined && name !== undefined && isCompanion(name) ? undefined : name;
    },
    prefixOf: (_kind, value) => (value === "" ? undefined : { attribute: KEY, value }),
    holderOf: (owner, id) => `${owner}/${id}`,
    read: (item) => readRecord(item, longestMs, skewMs),
    checkData() {
      throw invalid(`Records of format "${NAME}" have no room for user data.`);
    },
    // What exists is never free: a record that is required could only be one that somebody holds.
    claim: (ref, grant, onto) =>
      granting(ref, grant, onto.kind === "existing" ? NEVER : isAbsent(KEY)),
    takeOver: (ref, grant, { version }) => granting(ref, grant, seen(version)),
    handOver: (ref, grant, from) => granting(ref, grant, holdersCondition(from)),
    renew: beat,
    changeLength: beat,
    free: (ref, from) => ({
      key: ref.key,
      condition: holdersCondition(from),
      change: { set: {}, remove: [] },
      as: "delete",
    }),
    heldCondition,
    ...withoutSessions(NAME),
  };
  return format;
}

const DAY_MS = 24 * 3_600_000;
const LENGTHS = { leastMs: 100, mostMs: 365 * DAY_MS };
const SKEWS = { leastMs: 0, mostMs: DAY_MS };
const NEVER: Condition = all(isAbsent(KEY), isPresent(KEY));

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
  const { holder, wallMs, leaseMs } = grant;
  const set = {
    [VERSION]: s(idIn(holder)),
    [EXPIRY]: expiryOf(wallMs, leaseMs),
    [HOLDER]: s(holder),
  };
  return { key: ref.key, condition, change: { set, remove: [] }, as: "put" };
}

/** As in the other formats: it names the version before it, or its own, so that none comes back. */
function beat(ref: RecordRef, held: Held, { mark, version, wallMs, leaseMs }: Renewal): Write {
  return {
    key: ref.key,
    condition: all(heldCondition(held), any(seen(version), seen(mark))),
    change: { set: { [VERSION]: s(mark), [EXPIRY]: expiryOf(wallMs, leaseMs) }, remove: [] },
  };
}

/**
 * Whole seconds, rounded up: the Rust client rounds the time of the write down, and TTL may then delete a
 * lease up to a second before it ends.
 */
function expiryOf(wallMs: number, leaseMs: number): AttributeValue {
  return { N: String(Math.ceil((wallMs + leaseMs) / 1000)) };
}

/** Reads an item; pure, and never throws: what it cannot read it names (R12). */
function readRecord(item: Item | undefined, longestMs: number, skewMs: number): Found {
  if (item === undefined) return { state: "absent" };
  const version = stringIn(item, VERSION);
  const expiry = item[EXPIRY];
  // To a peer what has no version is free, whatever else it is; here it is somebody else's.
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
    // Smaller than the time in whole seconds, which is then at least one more.
    notBeforeWallMs: (Number(expiry.N) + 1) * 1000 + skewMs,
    session: undefined,
    mark: version,
    dataSeq: 0,
  };
}

// Peers have no name; the version alone tells their grants apart.
const PEER = "a peer";
