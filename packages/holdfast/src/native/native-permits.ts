/**
 * The native record with several holders: of a semaphore, or of a read-write lock.
 *
 * Key: `pk` (S) is the kind and the name joined by `#`; `sk` (S) is `lease`. Besides `v`, `version`, `fence`, `tail`,
 * `served` and `expiresAt`, which mean the same as in the record of a lock:
 *
 * | attribute | type | meaning |
 * | --- | --- | --- |
 * | `limit` | N | the most that all permits may weigh together |
 * | `used` | N | what the permits weigh together |
 * | `permit#` and an id | M | one permit: `weight`, its `session`, the length `leaseMs` of the session, and `owner` |
 * | `fence#` and an id | N | the fence of this permit: the record's own at the grant |
 * | `limitChanges` | N | how often an operator has set the limit; a change requires the number that it has read |
 * | `request#` and an id | M | an operator's request to the holder of this permit, like `request` of a lock |
 * | `request` | M | the last such request, which stays when its permit is gone |
 * | `withdrawn#` and an id | N | this attempt has ended, and is never granted; when, in milliseconds since 1970 |
 *
 * A permit is a pair of attributes, and not a member of a map: one write then serves an absent record, too, and the fence
 * of the permit can be computed from the record's. Not promised: the record shows whether a holder is alive. Only its
 * session does.
 */

import type { Capability } from "../core/record/capability.js";
import type { FreeOptions, Held, Holders, RecordCodec, RecordRef } from "../core/record/format.js";
import type { PermitGrant, PermitWrites } from "../core/record/permit-writes.js";
import type { FoundPermits, PermitInRecord, SharedRecord } from "../core/record/permits.js";
import type { Found, FreeRecord, HeldRecord, HolderRequest } from "../core/record/record.js";
import type { PermitRef, SharedCodec } from "../core/record/ref.js";
import { copyOfStart } from "../internal/text.js";
import type { AttributeValue, Change, Condition, Item, Write } from "../platform/table.js";
import {
  all,
  any,
  equals,
  expiresAt,
  isAbsent,
  isPresent,
  KNOWN,
  keysOf,
  LAYOUT,
  NEXT_VERSION,
  n,
  queueCondition,
  s,
} from "./native-conditions.js";
import { numberIn, requestIn, requestValue, sessionIn, stringIn } from "./native-values.js";

const PERMIT = "permit#";
const FENCE = "fence#";
const WITHDRAWN = "withdrawn#";
const CHANGES = "limitChanges";
// Each permit has its own, so that a request to one holder never replaces a request to another.
const REQUEST = "request#";

// The label is in every write of the record, once for each permit.
const LONGEST_OWNER = 60;

/** Records with several holders. */
export const PERMITS: Capability<PermitWrites> = {
  feature: "semaphores and read-write locks",
  why: "they need native records, and a table with a sort key",
  of(format) {
    const { pk, sk = null } = keysOf(format) ?? {};
    return pk === undefined || sk === null ? undefined : nativePermits(pk, format.codec);
  },
};

/** Composes the writes of records with permits. */
export function nativePermits(pk: string, codec: RecordCodec): PermitWrites {
  return {
    refOf: (kind, name) => ({ ...codec.refOf(kind, name), shared: SHARED }),
    permitOf: (ref, permit) => ({
      ...ref,
      id: JSON.stringify([ref.id, permit.holder]),
      shared: SHARED,
      permit,
    }),
    readAll: (item) => readPermits(codec.read(item), item),
    has: (item, holder) => item?.[PERMIT + holder] !== undefined,
    grant: (ref, grant) => ({
      key: ref.key,
      condition: all(...fitsOnto(pk, grant), ...queueCondition(grant)),
      change: {
        set: {
          ...grantSet(grant),
          limit: n(grant.limit),
          used: { incrementFrom: "0", by: grant.weight },
          ...(grant.passage?.kind === "ticket" ? { served: n(grant.passage.ticket) } : {}),
        },
        remove: grant.oldMarks.map((mark) => WITHDRAWN + mark),
      },
    }),
    exchange: (from, held, grant) => ({
      key: from.key,
      // A holder that an operator has asked to release must end, and must not go on under another id.
      condition: all(KNOWN, permitCondition(held), isAbsent(REQUEST + held.holder), isNew(grant)),
      change: {
        set: {
          ...grantSet(grant),
          used: { incrementFrom: "0", by: grant.weight - (from.permit?.weight ?? grant.weight) },
          ...markOf(from.permit, grant.wallMs),
        },
        remove: [PERMIT + held.holder, FENCE + held.holder, REQUEST + held.holder],
      },
    }),
    withdraw: (ref, { holder, fenceSeed, wallMs, oldMarks }) => ({
      key: ref.key,
      condition: all(any(isAbsent(pk), KNOWN), isAbsent(PERMIT + holder)),
      change: {
        set: { ...created(fenceSeed, wallMs), [WITHDRAWN + holder]: n(wallMs) },
        remove: oldMarks.map((mark) => WITHDRAWN + mark),
      },
    }),
    setLimit: (ref, limit, { fenceSeed, wallMs, changes }) => ({
      key: ref.key,
      // Without this, a late copy of an earlier change would restore its limit.
      condition:
        changes === 0
          ? any(isAbsent(pk), all(KNOWN, isAbsent(CHANGES)))
          : all(KNOWN, equals(CHANGES, n(changes))),
      change: {
        set: {
          ...created(fenceSeed, wallMs),
          limit: n(limit),
          [CHANGES]: n(changes + 1),
          // The record may have been idle for almost a week: TTL would delete the new limit with it.
          expiresAt: expiresAt(wallMs, 0),
        },
        remove: [],
      },
    }),
  };
}

function fitsOnto(pk: string, grant: PermitGrant): Condition[] {
  const { onto, isStored } = grant;
  if (onto === "absent") return [isAbsent(pk)];
  if (onto === undefined) return [isStored ? fits(grant) : any(isAbsent(pk), fits(grant))];
  // Only removals and grants raise the version, and only grants the fence.
  return [fits(grant), equals("fence", n(onto.fence)), equals("version", n(onto.version))];
}

function fits(grant: PermitGrant): Condition {
  const { limit, isStored, weight } = grant;
  const isLimit = equals("limit", n(limit));
  return all(
    KNOWN,
    isStored ? isLimit : any(isAbsent("limit"), isLimit),
    any(isAbsent("used"), { kind: "below", attribute: "used", value: n(limit - weight + 1) }),
    // A record that was made for its limit alone has no `used`, which must not pass for room.
    ...(weight > limit ? [isPresent("used")] : []),
    isNew(grant),
  );
}

// The id of an attempt is granted once: not while its permit is in the record, and never after its withdrawal.
function isNew({ holder }: PermitGrant): Condition {
  return all(isAbsent(PERMIT + holder), isAbsent(WITHDRAWN + holder));
}

function grantSet(grant: PermitGrant): Change["set"] {
  const { holder, weight, session, leaseMs, owner, wallMs, fenceSeed } = grant;
  const incrementFrom = fenceSeed.toString();
  const label = copyOfStart(owner, LONGEST_OWNER);
  return {
    v: { N: LAYOUT },
    version: NEXT_VERSION,
    fence: { incrementFrom },
    [FENCE + holder]: { incrementFrom, of: "fence" },
    [PERMIT + holder]: {
      M: { weight: n(weight), session: s(session), leaseMs: n(leaseMs), owner: s(label) },
    },
    expiresAt: expiresAt(wallMs, leaseMs),
  };
}

// Creates a record without permits if the record is absent.
function created(fenceSeed: bigint, wallMs: number): Change["set"] {
  return {
    v: { N: LAYOUT },
    version: { orElse: n(0) },
    fence: { orElse: n(fenceSeed) },
    expiresAt: { orElse: expiresAt(wallMs, 0) },
  };
}

/** Requires that the record has this permit. The fence is present exactly as long as the permit. */
function permitCondition({ holder, fence }: Held): Condition {
  return equals(FENCE + holder, n(fence));
}

/** Removes one permit, on condition that the record has the permit: so its weight is subtracted once. */
export function permitRemoval(
  { key, permit }: RecordRef,
  { known }: Holders,
  { wallMs, forced }: Pick<FreeOptions, "wallMs" | "forced">,
): Write {
  if (permit === undefined) throw new Error("Only one permit can be freed, and not its record.");
  const { holder, weight } = permit;
  return {
    key,
    condition: all(
      KNOWN,
      isPresent(PERMIT + holder),
      ...(known === undefined ? [] : [permitCondition(known)]),
    ),
    change: {
      set: {
        version: NEXT_VERSION,
        used: { incrementFrom: "0", by: -weight },
        expiresAt: expiresAt(wallMs, 0),
        ...markOf(permit, wallMs),
        ...(forced === undefined ? {} : { request: forced }),
      },
      remove: [PERMIT + holder, FENCE + holder, REQUEST + holder],
    },
  };
}

/** The mark that a permit leaves if its grant was sent more than once: no late copy is then granted. */
function markOf(permit: PermitRef | undefined, wallMs: number): Change["set"] {
  return permit?.leavesMark === true ? { [WITHDRAWN + permit.holder]: n(wallMs) } : {};
}

/** Asks the holder of one permit to release, on condition that the record has the permit. */
export function permitRequest(ref: RecordRef, request: HolderRequest): Write {
  const { holder } = request;
  const value = requestValue(request);
  return {
    key: ref.key,
    condition: all(KNOWN, isPresent(PERMIT + holder)),
    change: { set: { [REQUEST + holder]: value, request: value }, remove: [] },
  };
}

/**
 * Reads one permit of a record: held, or free if the record does not have the permit. For a ref of the whole record, adds
 * its permits. Pure.
 */
function readShared(found: Found, item: Item | undefined, { permit: asked }: RecordRef): Found {
  if (asked === undefined) return found.state === "free" ? withPermits(found, item) : found;
  const { holder } = asked;
  const shared = readPermits(found, item);
  if (shared.state !== "shared" || item === undefined) return shared as Found;
  const permit = shared.permits.find((one) => one.holder === holder);
  const request = requestIn(item, REQUEST + holder) ?? requestIn(item);
  if (permit !== undefined) return { ...heldBy(shared, permit), request };
  const { version, queue, fence } = shared;
  const known = { version, queue, lastHolder: undefined, acquiredAt: undefined, data: undefined };
  return { state: "free", ...known, fence, owner: undefined, request };
}

/** One permit of a record, as a record that its holder has alone. */
export function heldBy({ version, queue }: SharedRecord, permit: PermitInRecord): HeldRecord {
  const { holder, fence, session, leaseMs, owner } = permit;
  return {
    ...{ state: "held", version, queue, holder, fence, session, leaseMs, owner },
    ...{ lastHolder: undefined, acquiredAt: undefined, data: undefined },
    ...{ mark: undefined, dataSeq: 0 },
  };
}

function withPermits(record: FreeRecord, item: Item = {}): FreeRecord {
  const shared = readPermits(record, item);
  if (shared.state !== "shared" || shared.permits.length === 0) return record;
  const permits = shared.permits.map(({ weight: _, owner: __, ...holder }) => holder);
  return { ...record, permits };
}

function readPermits(found: Found, item: Item | undefined): FoundPermits {
  if (found.state === "held") {
    return { state: "foreign", found: "names a single holder, like the record of a lock" };
  }
  if (found.state !== "free" || item === undefined) return found as FoundPermits;
  const permits: PermitInRecord[] = [];
  const marks: SharedRecord["marks"][number][] = [];
  for (const [attribute, value] of Object.entries(item)) {
    if (attribute.startsWith(PERMIT)) {
      const permit = permitIn(attribute.slice(PERMIT.length), value, item);
      if (permit === undefined)
        return { state: "foreign", found: "has a permit that cannot be read" };
      permits.push(permit);
    } else if (attribute.startsWith(WITHDRAWN)) {
      const holder = attribute.slice(WITHDRAWN.length);
      marks.push({ holder, atMs: Number(numberIn(item, attribute) ?? 0n) });
    }
  }
  const used = Number(numberIn(item, "used") ?? 0n);
  const weight = permits.reduce((sum, permit) => sum + permit.weight, 0);
  if (used !== weight) {
    return { state: "foreign", found: `has permits of weight ${weight}, and \`used\` is ${used}` };
  }
  const limit = numberIn(item, "limit");
  const { fence, version, queue } = found;
  return {
    ...{ state: "shared", fence, version: version as bigint, queue, used, permits, marks },
    request: found.request,
    limit: limit === undefined ? undefined : Number(limit),
    limitChanges: Number(numberIn(item, CHANGES) ?? 0n),
  };
}

function permitIn(holder: string, value: AttributeValue, item: Item): PermitInRecord | undefined {
  if (!("M" in value)) return undefined;
  const weight = Number(numberIn(value.M, "weight") ?? 0n);
  const leaseMs = Number(numberIn(value.M, "leaseMs") ?? 0n);
  const session = sessionIn(value.M);
  const fence = numberIn(item, FENCE + holder);
  if (holder === "" || weight <= 0 || leaseMs <= 0) return undefined;
  if (session === undefined || fence === undefined) return undefined;
  return { holder, fence, weight, session, leaseMs, owner: stringIn(value.M, "owner") };
}

const SHARED: SharedCodec = {
  read: readShared,
  free: permitRemoval,
  heldCondition: permitCondition,
  ask: permitRequest,
};
