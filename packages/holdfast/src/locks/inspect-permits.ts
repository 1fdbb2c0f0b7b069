import type { AcquireContext } from "../core/acquire/context.js";
import type { Shown } from "../core/context.js";
import { decideHolder } from "../core/decide-holder.js";
import { sharedRecord } from "../core/permits/grant.js";
import { requireCapability } from "../core/record/capability.js";
import type { RecordRef } from "../core/record/format.js";
import type { AbsentRecord, PermitInRecord, SharedRecord } from "../core/record/permits.js";
import { forcedReleaseIn, hasQueue, pendingIn } from "../core/record/record.js";
import { serialisable } from "../internal/printed.js";
import { heldBy, PERMITS } from "../native/native-permits.js";
import { endingOf, found, type InspectedPermit, type Inspection } from "./inspect.js";

/** The kinds of records with permits. */
export type PermitKind = "semaphore" | "read-write";

/** The inspection of a semaphore or of a read-write lock. */
export interface PermitInspection extends Inspection {
  readonly kind: PermitKind;
  readonly fence: bigint | undefined;
  readonly version: bigint | undefined;
  readonly used: number;
  readonly permits: readonly InspectedPermit[];
}

// About as many permits as an operator's page shows. A record can have a thousand, each on another session.
const MOST_SESSIONS = 100;
// Several viewers, and a viewer that polls, share the reads of sessions.
const FRESH_MS = 5_000;

/**
 * Reads one record, strongly consistent, and the sessions of its holders: those that this client has not read for
 * longest, at most 100 in a call, and none that it has read in the last 5 s unless the session may be over. Costs a read
 * unit for each 4 KB of the record, and one for each session that it reads. Throws coded errors.
 */
export async function inspectPermits(
  context: AcquireContext,
  ref: RecordRef,
): Promise<PermitInspection> {
  const answer = await context.read({ key: ref.key, consistent: true });
  const shown = found(ref, answer);
  const record = sharedRecord({ context, ref }, shown);
  const permits = record.state === "shared" ? record.permits : [];
  await Promise.all(
    sessionsToRead(context, permits).map(async (session) =>
      found(ref, await context.sessions.look(session)),
    ),
  );
  return permitInspectionOf(context, ref, record, shown);
}

function sessionsToRead(context: AcquireContext, permits: readonly PermitInRecord[]): string[] {
  // The client has never read some sessions: -Infinity has no difference to itself.
  const readAtMs = (session: string) =>
    Math.max(context.sessions.lookedAtMs(session), Number.MIN_SAFE_INTEGER);
  const due = permits.filter(
    (permit) =>
      context.nowMs() - readAtMs(permit.session) >= FRESH_MS ||
      decideHolder(context, permit).kind !== "wait",
  );
  const sessions = [...new Set(due.map(({ session }) => session))];
  return sessions.sort((a, b) => readAtMs(a) - readAtMs(b)).slice(0, MOST_SESSIONS);
}

/** Returns the permits in an answer. Throws the errors of an unreadable record (R12). */
export function permitsIn(
  context: AcquireContext,
  ref: RecordRef,
  shown: Shown,
): readonly PermitInRecord[] {
  const record = sharedRecord({ context, ref }, shown);
  return record.state === "shared" ? record.permits : [];
}

/** Decodes an item of a scan: its inspection, or the layout that this version cannot read. Sends no request. */
export function listedPermits(
  context: AcquireContext,
  ref: RecordRef,
  shown: Shown,
): PermitInspection | { readonly name: string; readonly found: string } {
  const record = requireCapability(context.format, PERMITS).readAll(shown.item);
  if (record.state !== "absent" && record.state !== "shared") {
    return { name: ref.name, found: record.found };
  }
  context.see(ref, shown, "eventual");
  return permitInspectionOf(context, ref, record, shown);
}

/** Computes the inspection of a record with permits, from the record and the observations of this client. */
function permitInspectionOf(
  context: AcquireContext,
  ref: RecordRef,
  record: AbsentRecord | SharedRecord,
  { dateMs }: Pick<Shown, "dateMs">,
): PermitInspection {
  const known = record.state === "shared" ? record : undefined;
  const permits =
    known?.permits
      .toSorted((a, b) => (a.fence < b.fence ? -1 : 1))
      .map((permit) => inspected(context, ref, known, permit, dateMs)) ?? [];
  const asked = permits.find(({ holder }) => holder === known?.request?.holder);
  const held = permits.length > 0 ? "held" : "free";
  const limit = known?.limit;
  const inspection: PermitInspection = {
    ...NO_LEASE,
    kind: ref.kind as PermitKind,
    name: ref.name,
    state: context.isUnlocked ? "unlocked" : known === undefined ? "absent" : held,
    limit,
    used: known?.used ?? 0,
    permits,
    isQueued: known !== undefined && hasQueue(known),
    fence: known?.fence,
    version: known?.version,
    forced: forcedReleaseIn(known),
    request: asked && pendingIn({ request: known?.request, holder: asked.holder }),
    appearsExpired: permits.some(({ appearsExpired }) => appearsExpired),
    acquirableInMs: known === undefined ? 0 : roomInMs(permits, known),
  };
  return serialisable(inspection);
}

/** Milliseconds until a permit of weight 1 fits, if the holders stay silent: a limit below the use needs several to end. */
function roomInMs(
  permits: readonly InspectedPermit[],
  { used, limit = Number.POSITIVE_INFINITY }: SharedRecord,
): number {
  let [left, inMs] = [used, 0];
  for (const permit of permits.toSorted((a, b) => a.acquirableInMs - b.acquirableInMs)) {
    if (left < limit) break;
    left -= permit.weight;
    inMs = permit.acquirableInMs;
  }
  return inMs;
}

// Each holder of a permit has its own.
const NO_LEASE = {
  ...{ namespace: undefined, holder: undefined, owner: undefined, session: undefined },
  ...{ acquiredAt: undefined, leaseMs: undefined, data: undefined, attributes: undefined },
  ...{ endsAt: undefined, endsInMs: undefined, parts: undefined },
};

function inspected(
  context: AcquireContext,
  ref: RecordRef,
  record: SharedRecord,
  permit: PermitInRecord,
  dateMs: number | undefined,
): InspectedPermit {
  const { holder, owner, fence, weight, session, leaseMs } = permit;
  // Not read from the item again: a thousand permits would cost a thousand readings of them all.
  const ending = endingOf(context, ref, heldBy(record, permit), dateMs);
  return serialisable({ holder, owner, fence, weight, session, leaseMs, ...ending });
}

/** Returns the ref of a permit that another process may hold. A late copy of its grant may still arrive. */
export function permitRefOf(
  context: AcquireContext,
  ref: RecordRef,
  { holder, weight }: Pick<PermitInRecord, "holder" | "weight">,
): RecordRef {
  const permits = requireCapability(context.format, PERMITS);
  return permits.permitOf(ref, { holder, weight, leavesMark: true });
}
