import { type ClientParts, type Holdfast, partsOf } from "../client.js";
import type { AcquireContext } from "../core/acquire/context.js";
import { requireCapability } from "../core/record/capability.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { queueRefOf } from "../core/record/key.js";
import { checkNames } from "../internal/option-names.js";
import { inspectRecord } from "../locks/inspect.js";
import { inspectPermits } from "../locks/inspect-permits.js";
import { SESSIONS } from "../native/native-sessions.js";
import {
  askHolderToRelease,
  checkForce,
  FORCE_NAMES,
  FORCE_PERMIT_NAMES,
  type ForceReleaseOptions,
  type ForceReleasePermitOptions,
  type ForceReleaseResult,
  NOT_HELD,
} from "./force-release.js";
import { type History, historyOf } from "./history.js";
import {
  checkHolderKind,
  checkPermitKind,
  type HolderKind,
  INSPECT_NAMES,
  INSPECT_PERMIT_NAMES,
  type InspectOptions,
  type InspectPermitOptions,
  isOfPermits,
  namedRef,
  permitRecordRef,
} from "./kinds.js";
import {
  type ListOptions,
  type ListPage,
  type ListPermitOptions,
  type PermitListPage,
  pagesOf,
  permitPagesOf,
} from "./list.js";
import { type PermitQueueListing, type QueueListing, queueOf } from "./queue.js";
import { freeOfHolder, permitOfHolder, type ReleaseByHolderOptions } from "./release-holder.js";
import { type SessionListing, sessionsOf } from "./sessions.js";
import { changeLimit, type LimitChange } from "./set-limit.js";
import { SURVEY_NAMES, type Survey, type SurveyOptions, surveyOf } from "./survey.js";

/**
 * Lists the locks of the table page by page; with `kind`, the leaderships, the tasks of `once`, the semaphores or the
 * read-write locks.
 *
 * Each page scans up to a megabyte of the whole table, at half a read unit for 4 KB. A second listing by the same
 * client recognises silent holders. Rejects with coded errors.
 */
export function listLocks<S extends FormatTypes = NativeTypes>(
  client: Holdfast<S>,
  options?: ListOptions,
): AsyncIterable<ListPage<S>>;
export function listLocks(
  client: Holdfast<FormatTypes>,
  options: ListPermitOptions,
): AsyncIterable<PermitListPage>;
export function listLocks(
  client: Holdfast<FormatTypes>,
  options: ListOptions | ListPermitOptions = {},
): AsyncIterable<unknown> {
  const { context } = partsOf(client, "listLocks()");
  return isOfPermits(options) ? permitPagesOf(context, options) : pagesOf(context, options);
}

/**
 * Lists the holder of a fair lock and the waiters, in order; with `kind`, the holders of a semaphore or of a
 * read-write lock.
 *
 * A mutex's waiters appear only once they have a place in the queue. Costs a strongly consistent read, and a strongly
 * consistent query of about one unit for each eight waiters; with `kind` also a read of each holder's session.
 * Rejects with coded errors.
 */
export function listQueue(
  client: Holdfast<FormatTypes>,
  name: string,
  options?: { readonly namespace?: string },
): Promise<QueueListing>;
export function listQueue(
  client: Holdfast<FormatTypes>,
  name: string,
  options: InspectPermitOptions,
): Promise<PermitQueueListing>;
export function listQueue(
  client: Holdfast<FormatTypes>,
  name: string,
  options: { readonly namespace?: string } | InspectPermitOptions = {},
): Promise<QueueListing | PermitQueueListing> {
  const { context } = partsOf(client, "listQueue()");
  if (isOfPermits(options)) {
    checkNames("listQueue()", options, INSPECT_PERMIT_NAMES);
    const ref = permitRecordRef(context.format, name, options.kind);
    return queueOf(context, ref, inspectPermits);
  }
  checkPermitKind(options);
  checkNames("listQueue()", options, { namespace: true });
  return queueOf(context, queueRefOf(context.format, name, options.namespace), inspectRecord);
}

/**
 * Lists the sessions of the table, each with its locks and permits.
 *
 * Scans twice, and holds the result in memory. Rejects with coded errors.
 */
export async function listSessions(client: Holdfast<FormatTypes>): Promise<SessionListing[]> {
  const { context } = partsOf(client, "listSessions()");
  requireCapability(context.format, SESSIONS);
  return sessionsOf(context);
}

/**
 * Reads all kinds of records, the places in queues, the sessions and the noted grants of leaderships of the table, by
 * one scan.
 *
 * Scans the whole table as `listLocks` does, and holds the result in memory. Includes free locks. A second survey by the
 * same client recognises silent holders. Rejects with coded errors. Throws `invalid-argument`.
 */
export async function survey(
  client: Holdfast<FormatTypes>,
  options: SurveyOptions = {},
): Promise<Survey> {
  const { context } = partsOf(client, "survey()");
  requireCapability(context.format, SESSIONS);
  return surveyOf(context, checkNames("survey()", options, SURVEY_NAMES));
}

/**
 * Reads the last sixteen grants of a lock, a leadership, a semaphore or a read-write lock, and the forced releases
 * between them. For a semaphore or a read-write lock, it finds only the last forced release.
 *
 * Only clients with the option `history` note their grants. Costs seventeen reads of half a unit. Throws coded
 * errors.
 */
export function history<S extends FormatTypes = NativeTypes>(
  client: Holdfast<S>,
  name: S["name"],
  options:
    | (InspectOptions & { readonly kind?: HolderKind | undefined })
    | InspectPermitOptions = {},
): Promise<History> {
  const { context } = partsOf(client, "history()");
  if (isOfPermits(options)) {
    checkNames("history()", options, INSPECT_PERMIT_NAMES);
    return historyOf(context, permitRecordRef(context.format, name, options.kind));
  }
  checkHolderKind(checkNames("history()", options, INSPECT_NAMES));
  return historyOf(context, namedRef(context.format, name, options));
}

/**
 * Frees a lock, or with `kind` one permit, by the holder id, for a process that has lost the lease object.
 *
 * A live holder notices the loss at its next renewal; if its lease is on a session, only at its next write to this
 * lock. The holder of a permit may notice the loss only when it releases the permit. So use `forceRelease` for a live
 * holder. Costs one write; for a permit also a strongly consistent read. Resolves to whether the lock named this
 * holder. Rejects with coded errors. Throws `invalid-argument`.
 */
export function releaseByHolder<S extends FormatTypes = NativeTypes>(
  client: Holdfast<S>,
  name: S["name"],
  holder: string,
  options: ReleaseByHolderOptions | InspectPermitOptions = {},
): Promise<boolean> {
  const { context } = partsOf(client, "releaseByHolder()");
  if (isOfPermits(options)) return freePermit(context, name, holder, options);
  checkPermitKind(options);
  checkNames("releaseByHolder()", options, { namespace: true });
  const ref = namedRef(context.format, name, { namespace: options.namespace });
  return freeOfHolder(context, ref, holder);
}

/**
 * Changes the limit of a semaphore, or sets it before the first acquisition.
 *
 * Holders keep their permits. If more permits are in use than the new limit allows, no permit is granted until enough
 * are released. All processes go by the new limit at their next step, whatever their own number is, and callers in the queue
 * keep their places. Only a caller with a weight above the new limit, or with `onLimitMismatch: "refuse"` and another number,
 * gets `limit-mismatch`. Costs a read and a write. Rejects with coded errors. Throws `invalid-argument`.
 */
export function setLimit(
  client: Holdfast<FormatTypes>,
  name: string,
  permits: number,
): Promise<LimitChange> {
  return changeLimit(partsOf(client, "setLimit()").context, name, permits);
}

/**
 * Asks the holder of a lock to release the lock, and waits until the lock is free or the holder is dead. Frees the
 * lock of a dead holder.
 *
 * The holder reads the request at its next renewal. Its lease is then lost with reason `released-by-force`, and the
 * message has the operator's label and reason. The lock is free when the holder calls `release()`, or when the lease
 * expires. So there are never two holders. With `now` there may be two, until the next renewal of the holder or its
 * session. With `kind` "leader" the request ends the term of an election; the same candidate may be elected again.
 *
 * The request affects only the present holder. If the lock is granted again meanwhile, the result names the new
 * holder as `successor`. If the call rejects, or the process ends, the lock may still be held: call again.
 *
 * With `kind` "semaphore" or "read-write", the call affects only the permit of `holder`, and `isFree` means that this
 * permit is gone. A writer that became a reader has another permit; after the request it can no longer become one.
 *
 * Costs a read and a write, and some reads while waiting. A lock on a session costs one write more, and `now` another
 * write. A permit costs one read more. `Inspection.forced` shows the operator, the time and the reason until the next
 * request to a holder of the name. Rejects with coded errors. Throws `invalid-argument`.
 */
export function forceRelease<S extends FormatTypes = NativeTypes>(
  client: Holdfast<S>,
  name: S["name"],
  options: ForceReleaseOptions | ForceReleasePermitOptions,
): Promise<ForceReleaseResult> {
  const parts = partsOf(client, "forceRelease()");
  if (isOfPermits(options)) return forcePermit(parts, name, options);
  const { context, defaultOwner } = parts;
  checkHolderKind(checkNames("forceRelease()", options, FORCE_NAMES));
  const ref = namedRef(context.format, name, options);
  return askHolderToRelease(context, ref, options, defaultOwner);
}

async function freePermit(
  context: AcquireContext,
  name: FormatTypes["name"],
  holder: string,
  options: InspectPermitOptions,
): Promise<boolean> {
  const { kind } = checkNames("releaseByHolder()", options, INSPECT_PERMIT_NAMES);
  const ref = permitRecordRef(context.format, name, kind);
  const permit = await permitOfHolder(context, ref, holder);
  return permit !== undefined && freeOfHolder(context, permit, holder);
}

async function forcePermit(
  { context, defaultOwner }: ClientParts,
  name: FormatTypes["name"],
  options: ForceReleasePermitOptions,
): Promise<ForceReleaseResult> {
  const { kind, holder, ...others } = checkNames("forceRelease()", options, FORCE_PERMIT_NAMES);
  checkForce(others, others.by ?? defaultOwner);
  const ref = permitRecordRef(context.format, name, kind);
  const permit = await permitOfHolder(context, ref, holder);
  if (permit === undefined) return NOT_HELD;
  return askHolderToRelease(context, permit, others, defaultOwner);
}
