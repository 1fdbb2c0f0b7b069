/**
 * The record with an owner's name and a version, but without a growing number: the AWS lock client for Java and
 * dynamolock share its design. A dialect describes the differences: the text of a lease's length, and what a
 * grant keeps of an older record.
 *
 * `ownerName` is the owner's label, `/` and an id that is new with every grant. For a peer it is an ordinary
 * name; for this library it is the holder, so that R4, R5 and R7 hold without a fence. `recordVersionNumber` is
 * the version, and the mark of the write that set it.
 *
 * | step | request | condition | change |
 * | --- | --- | --- | --- |
 * | claim, unseen | put, or update to keep anything | absent, or released as peers do | all; `isReleased` removed |
 * | claim, seen free | as above | released in any way, and the version as seen | the same |
 * | take over | as above | the version as watched | the same |
 * | hand over | as above | not released, and the owner as granted | the same |
 * | renew; data; another length | update | not released, owner, version the last known or this write's own | length, version, data |
 * | release | delete, or update to keep the record | not released, and the owner as granted | `isReleased`, a new version |
 */

import {
  type Change,
  type CompositeName,
  type Condition,
  checkNames,
  durationMs,
  type FormatTypes,
  type Grant,
  type Held,
  type Holders,
  type Item,
  type LeaseFormat,
  type LeaseWrites,
  type LockName,
  type Onto,
  type OptionNames,
  type RecordRef,
  type Renewal,
  type Version,
  type Write,
} from "holdfast/internal";
import {
  checkCompanion,
  companion,
  type FenceOf,
  type Fences,
  longestNameWith,
  namesWith,
  STORED_FENCES,
} from "./companion.js";
import {
  all,
  any,
  checkKeys,
  equals,
  idIn,
  isAbsent,
  isPresent,
  KEY_NAMES,
  type KeyNames,
  s,
} from "./foreign.js";
import {
  checkAttributes,
  checkData,
  DATA,
  type Dialect,
  LEASE,
  OWN,
  OWNER,
  RELEASED,
  readRecord,
  VERSION,
} from "./owned-record.js";
import { type KeptObservations, SIGHTINGS, sightingNotes } from "./sightings.js";

/** The types of a format with bytes as user data, with further attributes, and without a fence by default. */
export interface ByteLeases<
  Name extends LockName = string,
  Fence extends bigint | undefined = undefined,
> extends FormatTypes {
  readonly name: Name;
  readonly data: Uint8Array;
  readonly attributes: Item;
  readonly fence: Fence;
  readonly hasCompanion: Fence extends bigint ? true : false;
}

/** Options of a format whose records have an owner's name. */
export interface OwnedOptions extends KeyNames {
  /**
   * `"companion"`: numbers the grants of this library's clients in an item beside each record, so that a lease
   * has a fence. Costs one more write and one more strong read per grant, and disables local hand-offs. Grants
   * of peers have no number. Default: no fences.
   */
  readonly fences?: Fences;
  /**
   * `"companion"`: keeps observations in an item beside each record, so that processes which live for less than a lease
   * can take over from a dead holder. A caller that is refused, and gives up before the end of a watch, costs one more
   * write. Needs answers with a `Date`, `maxClockError` other than `"never"`, and `dynamodb:UpdateItem` on the item, as
   * in `policyFor()`. Not for tables with holders of dynamolock that use `WithUnsafeMatchOwnerOnly`. Default: the
   * client stores no observations.
   */
  readonly observations?: KeptObservations;
}

const OWNED_NAMES: OptionNames<OwnedOptions> = { ...KEY_NAMES, fences: true, observations: true };

/** The types of a format with these options. */
export type LeasesWith<O extends OwnedOptions> = ByteLeases<
  O extends { readonly sortKeyName: string } ? CompositeName : string,
  FenceOf<O>
>;

/** Makes the format of a dialect for a table with these keys. Throws `invalid-argument`. */
export function ownedFormat(dialect: Dialect, options: OwnedOptions): LeaseFormat {
  const { name, defaults } = dialect;
  checkNames(`format "${name}"`, options, OWNED_NAMES);
  const { partitionKeyName: pk = "key", sortKeyName: sk, fences, observations } = options;
  checkCompanion("fences", fences);
  checkCompanion("observations", observations);
  const companions = [
    ...(fences === undefined ? [] : [STORED_FENCES]),
    ...(observations === undefined ? [] : [SIGHTINGS]),
  ];
  checkKeys(pk, sk, [...OWN, ...companions.flatMap(({ attributes }) => attributes)]);
  const reserved = new Set([pk, ...(sk === undefined ? [] : [sk]), ...OWN]);
  return {
    name,
    facts: {
      schema: { keys: { pk, sk: sk ?? null }, ttlAttribute: null },
      writes: writesOf(dialect),
      defaults,
      recordsHaveFences: false,
      releaseMayDelete: true,
      freeNeedsMark: true,
      longestNameBytes: longestNameWith(companions),
    },
    codec: {
      pollAttributes: [OWNER, LEASE, VERSION, RELEASED],
      ...namesWith(name, pk, sk, companions),
      read: (item) => readRecord(item, reserved, dialect),
      checkData: (value) => checkData(value, name),
    },
    lease: leaseWrites(dialect),
    attributes: { check: (attributes: Item) => checkAttributes(attributes, reserved) },
    ...(fences === undefined ? {} : { fenceCounter: companion(pk, sk, looksOf(dialect)) }),
    ...(observations === undefined ? {} : { sightings: sightingNotes(pk, sk, looksOf(dialect)) }),
  };
}

function leaseWrites(dialect: Dialect): LeaseWrites {
  const granting = (ref: RecordRef, grant: Grant, condition: Condition): Write =>
    grantWrite(dialect, ref, grant, condition);
  const beat = (ref: RecordRef, held: Held, renewal: Renewal): Write =>
    beatWrite(dialect, ref, held, renewal);
  return {
    claim: (ref, grant, onto) => granting(ref, grant, ontoCondition(onto, ref)),
    takeOver: (ref, grant, { version }) => granting(ref, grant, seenCondition(ref, version)),
    handOver: (ref, grant, from) => granting(ref, grant, holdersCondition(ref, from)),
    renew: beat,
    changeLength: beat,
    free: (ref, from, { keepData, keepRecord, attributes = {}, mark }) =>
      keepData || keepRecord === true
        ? {
            key: ref.key,
            condition: holdersCondition(ref, from),
            // A new version, so that a peer's watch of the former version does not count the record as dead.
            change: {
              set: { [RELEASED]: s("1"), [VERSION]: s(mark) },
              remove: keepData ? [] : [DATA, ...Object.keys(attributes)],
            },
          }
        : { key: ref.key, condition: holdersCondition(ref, from), change: NOTHING, as: "delete" },
    heldCondition,
  };
}

function writesOf({ keepsAttributes, defaults }: Dialect) {
  const frees = defaults.keepData === true ? [] : ["DeleteItem"];
  const hold = [...(keepsAttributes ? [] : ["PutItem"]), "UpdateItem", ...frees];
  return { hold, free: frees.length > 0 ? frees : ["UpdateItem"] };
}

// Looks like a released lock to peers, which read every item of a table for a listing.
function looksOf({ leaseText, defaults }: Dialect): Item {
  return {
    [OWNER]: s("holdfast"),
    [LEASE]: s(leaseText(durationMs("lease", defaults.lease, LENGTHS))),
    [VERSION]: s("fence"),
    [RELEASED]: s("1"),
  };
}

const LENGTHS = { leastMs: 1, mostMs: 24 * 3_600_000 };

const NOTHING: Change = Object.freeze({ set: {}, remove: [] });

function exists(ref: RecordRef): Condition[] {
  return Object.keys(ref.key).map(isPresent);
}

function ontoCondition(onto: Onto, ref: RecordRef): Condition {
  const isNothing = all(...Object.keys(ref.key).map(isAbsent));
  const isFree = all(...exists(ref), equals(RELEASED, s("1")), isPresent(VERSION));
  switch (onto.kind) {
    case "blind":
      return any(isNothing, isFree);
    case "existing":
      return isFree;
    case "absent":
      return isNothing;
    case "free":
      // Any value of `isReleased`: a peer can leave one that peers themselves never claim.
      return all(seenCondition(ref, onto.version), isPresent(RELEASED));
  }
}

function seenCondition(ref: RecordRef, version: Version): Condition {
  return all(...exists(ref), equals(VERSION, s(String(version))));
}

function holdersCondition(ref: RecordRef, { known, maybe = [], watched }: Holders): Condition {
  const ids = [...(known === undefined ? [] : [known.holder]), ...maybe];
  return any(
    ...ids.map((holder) => all(...exists(ref), heldCondition({ holder, fence: 0n }))),
    ...(watched === undefined ? [] : [seenCondition(ref, watched.version)]),
  );
}

// A holder's name occurs in one grant only, so it identifies the grant without a fence.
function heldCondition({ holder }: Held): Condition {
  return all(equals(OWNER, s(holder)), isAbsent(RELEASED));
}

function grantWrite(dialect: Dialect, ref: RecordRef, grant: Grant, condition: Condition): Write {
  const { holder, leaseMs, data, attributes = {} } = grant;
  const keepsData = grant.existingData === "keep";
  const keeps = keepsData || dialect.keepsAttributes || grant.existingAttributes === "keep";
  const bytes = data === undefined ? undefined : { B: data as Uint8Array };
  const own = {
    [OWNER]: s(holder),
    [LEASE]: s(dialect.leaseText(leaseMs)),
    [VERSION]: s(idIn(holder)),
  };
  const set: Change["set"] = {
    ...attributes,
    ...own,
    ...(bytes === undefined ? {} : { [DATA]: keepsData ? { orElse: bytes } : bytes }),
  };
  if (!keeps) return { key: ref.key, condition, change: { set, remove: [] }, as: "put" };
  const remove = [RELEASED, ...(bytes === undefined && !keepsData ? [DATA] : [])];
  return { key: ref.key, condition, change: { set, remove } };
}

/**
 * Names the last known version or the write's own. A repeated write is harmless, and a late write fails after
 * another one, so an older version never returns.
 */
function beatWrite(
  dialect: Dialect,
  ref: RecordRef,
  held: Held,
  { mark, version, leaseMs, data }: Renewal,
): Write {
  const bytes = data?.value === undefined ? undefined : { B: data.value as Uint8Array };
  return {
    key: ref.key,
    condition: all(
      ...exists(ref),
      any(equals(VERSION, s(String(version))), equals(VERSION, s(mark))),
      heldCondition(held),
    ),
    change: {
      set: {
        [LEASE]: s(dialect.leaseText(leaseMs)),
        [VERSION]: s(mark),
        ...(bytes === undefined ? {} : { [DATA]: bytes }),
      },
      remove: data !== undefined && bytes === undefined ? [DATA] : [],
    },
  };
}
