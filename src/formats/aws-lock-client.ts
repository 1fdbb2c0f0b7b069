/**
 * The record of the AWS lock client for Java (`com.amazonaws:dynamodb-lock-client`, all releases to
 * 1.4.0) and of its C# port: spec/formats/aws-lock-client.md.
 *
 * What it does not do: its grants are not numbered, so a lease has no fence. A peer that sets
 * `updateExistingLockRecord` can leave a lock that is held and looks released; whoever comes next then
 * holds it too, and nothing here can tell. Of the house's rules it cannot keep R9 (a peer's put wipes,
 * a release deletes), R10 (nobody moves a TTL; it has to be off), and R14 in part: a claim of what is
 * absent that was given up may land late, and then holds for one lease. A peer judges by its own clock
 * with no margin for drift; the holder here keeps one (R2), and so does the watch (R3).
 *
 * `ownerName` is the owner's label, `/` and an id that is new with every grant: to a peer a name like
 * any other, here the holder, so that R4, R5 and R7 hold without a fence. `recordVersionNumber` is the
 * version, and the mark of the write that set it.
 *
 * | step | request | condition | change |
 * | --- | --- | --- | --- |
 * | claim, unseen | put, or update where anything is kept | absent, or released as the peers do | all; `isReleased` removed |
 * | claim, seen free | as above | released in any way, and the version as seen | the same |
 * | take over | as above | the version as watched | the same |
 * | hand over | as above | not released, and the owner as granted | the same |
 * | renew; data; another length | update | not released, owner, version the last known or this write's own | length, version, data |
 * | release | delete, or update that keeps | not released, and the owner as granted | `isReleased`, a new version |
 */
import type {
  Grant,
  Held,
  Holders,
  Kind,
  LeaseDefaults,
  LeaseFormat,
  Onto,
  RecordRef,
  Renewal,
} from "../lease/format.js";
import type { Version } from "../lease/record.js";
import type { LeaseShape, LockFormat, LockName, SortedName } from "../lease/shape.js";
import type { Change, Condition, Item, Write } from "../platform/table.js";
import {
  checkAttributes,
  checkData,
  checkKeys,
  DATA,
  invalid,
  LEASE,
  OWN,
  OWNER,
  RELEASED,
  readRecord,
  VERSION,
} from "./aws-lock-client-record.js";
import { all, any, equals, isAbsent, isPresent, s, stringIn, withoutSessions } from "./foreign.js";

/** The leases of {@link awsLockClient}: bytes, further attributes, no fence. */
export interface AwsLeases<Name extends LockName = string> extends LeaseShape {
  readonly name: Name;
  readonly data: Uint8Array;
  readonly attributes: Item;
  readonly fence: undefined;
}

/** How the table's keys are called. */
export interface AwsLockClientOptions {
  /** The partition key, a string. Default `key`, as the Java client has it. */
  readonly partitionKeyName?: string | undefined;
  /** The sort key, a string, of a table that has one: every name then has two parts. Default: none. */
  readonly sortKeyName?: string | undefined;
}

/** Their own: 20 s, a beat every 5 s, a look every second, a lease and a second of waiting. */
const DEFAULTS: LeaseDefaults = Object.freeze({
  lease: "20s",
  renewsPerLease: 4,
  wait: Object.freeze({ beyondLease: "1s" }),
  fastestPoll: "1s",
  slowestPoll: "1s",
});

/**
 * Shares a table with the AWS lock client for Java and its C# port. User data are bytes, and a lease
 * has no fence. A release deletes the record, unless `keepData` asks to keep it. Lengths of time are
 * the Java client's: lease 20 s, renewal a quarter of it, wait 1 s beyond the watch of a lease, poll 1 s.
 *
 * Costs what native locks cost, one request a step, and needs `dynamodb:PutItem` and
 * `dynamodb:DeleteItem` besides. Throws `invalid-argument`. docs/formats.md maps every option of theirs.
 */
export function awsLockClient(
  options?: AwsLockClientOptions & { readonly sortKeyName?: undefined },
): LockFormat<AwsLeases>;
export function awsLockClient(
  options: AwsLockClientOptions & { readonly sortKeyName: string },
): LockFormat<AwsLeases<SortedName>>;
export function awsLockClient(options: AwsLockClientOptions = {}): LockFormat {
  const { partitionKeyName: pk = "key", sortKeyName: sk } = options;
  const reserved = new Set([pk, ...(sk === undefined ? [] : [sk]), ...OWN]);
  checkKeys(pk, sk);
  const format: LeaseFormat = {
    name: "aws-lock-client",
    isFenced: false,
    deletes: true,
    schema: { keys: { pk, sk: sk ?? null }, ttlAttribute: null },
    defaults: DEFAULTS,
    marksFree: true,
    pollAttributes: [OWNER, LEASE, VERSION, RELEASED],
    refOf: (kind, name) => refOf(kind, name, pk, sk),
    nameOf: (_kind, item) => nameIn(item, pk, sk),
    prefixOf: (_kind, value) => (value === "" ? undefined : { attribute: pk, value }),
    holderOf: (owner, id) => `${owner}/${id}`,
    read: (item) => readRecord(item, reserved),
    checkData,
    checkAttributes: (attributes) => checkAttributes(attributes, reserved),
    claim: (ref, grant, onto) => granting(ref, grant, ontoCondition(onto, ref)),
    takeOver: (ref, grant, { version }) => granting(ref, grant, seenCondition(ref, version)),
    handOver: (ref, grant, from) => granting(ref, grant, holdersCondition(ref, from)),
    renew: (ref, held, renewal) => beat(ref, held, renewal),
    changeLength: (ref, held, renewal) => beat(ref, held, renewal),
    free: (ref, from, { keepData, mark }) =>
      keepData
        ? {
            key: ref.key,
            condition: holdersCondition(ref, from),
            // A version of its own: a peer that has watched the former one must not take it for dead.
            change: { set: { [RELEASED]: s("1"), [VERSION]: s(mark) }, remove: [] },
          }
        : { key: ref.key, condition: holdersCondition(ref, from), change: NOTHING, as: "delete" },
    heldCondition,
    ...withoutSessions("aws-lock-client"),
  };
  return format;
}

const NOTHING: Change = Object.freeze({ set: {}, remove: [] });

function refOf(kind: Kind, name: LockName, pk: string, sk: string | undefined): RecordRef {
  if (kind !== "lock") {
    throw invalid(
      'A table of format "aws-lock-client" keeps locks, and no records of other kinds.',
    );
  }
  if ((typeof name === "string") !== (sk === undefined)) {
    throw invalid(
      sk === undefined
        ? "The name of a lock must be a string: the format was made without `sortKeyName`."
        : "The name of a lock must be [partitionKey, sortKey]: the format was made with `sortKeyName`.",
    );
  }
  if (typeof name === "string") return { kind, name, key: { [pk]: s(name) }, id: name };
  const key = { [pk]: s(name[0]), [sk as string]: s(name[1]) };
  return { kind, name: name.join("/"), parts: name, key, id: JSON.stringify(name) };
}

function nameIn(item: Item, pk: string, sk: string | undefined): LockName | undefined {
  const first = stringIn(item, pk);
  if (sk === undefined || first === undefined) return first;
  const second = stringIn(item, sk);
  return second === undefined ? undefined : [first, second];
}

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
      // In whatever way it was released: a peer can leave one that it will never take itself.
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

// The owner's name is in one grant only, so it stands for holder and fence.
function heldCondition({ holder }: Held): Condition {
  return all(equals(OWNER, s(holder)), isAbsent(RELEASED));
}

function granting(ref: RecordRef, grant: Grant, condition: Condition): Write {
  const { holder, leaseMs, data, attributes = {} } = grant;
  const keeps = grant.existingData === "keep" || grant.existingAttributes === "keep";
  const bytes = data === undefined ? undefined : { B: data as Uint8Array };
  const own = {
    [OWNER]: s(holder),
    [LEASE]: s(String(leaseMs)),
    [VERSION]: s(idIn(holder)),
  };
  const keepsData = grant.existingData === "keep";
  const set: Change["set"] = {
    ...attributes,
    ...own,
    ...(bytes === undefined ? {} : { [DATA]: keepsData ? { orElse: bytes } : bytes }),
  };
  if (!keeps) return { key: ref.key, condition, change: { set, remove: [] }, as: "put" };
  const remove = [RELEASED, ...(bytes === undefined && !keepsData ? [DATA] : [])];
  return { key: ref.key, condition, change: { set, remove } };
}

// New with every grant, as the version has to be.
function idIn(holder: string): string {
  return holder.slice(holder.lastIndexOf("/") + 1);
}

/**
 * The version it names is the last known one, or this write's own: sent again it is harmless, and one
 * that lands late, after another, fails, so that no version comes back.
 */
function beat(ref: RecordRef, held: Held, { mark, version, leaseMs, data }: Renewal): Write {
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
        [LEASE]: s(String(leaseMs)),
        [VERSION]: s(mark),
        ...(bytes === undefined ? {} : { [DATA]: bytes }),
      },
      remove: data !== undefined && bytes === undefined ? [DATA] : [],
    },
  };
}
