import { isHoldfastError } from "../../errors.js";
import { isRefusedCredentials } from "../../platform/credentials.js";
import { isJudged, type WriteAnswer } from "../../platform/table.js";
import type { AcquireContext } from "../acquire/context.js";
import type { RecordAcquisition } from "../acquire/settings.js";
import { removeEntry } from "../hold/release.js";

type Permission = "allowed" | "denied";

/** A policy may be corrected while a caller waits: behind the place of a dead waiter, only a place of its own helps it. */
const REFUSAL_REMEMBERED_MS = 60_000;

const known = new WeakMap<
  AcquireContext,
  { readonly permission: Permission; readonly untilMs: number }
>();

/**
 * Whether the client may write and delete places in queues. The permissions of a mutex do not include this. A client
 * that took a ticket and was then refused its place would block the lock: claims without a ticket wait behind it.
 *
 * Costs one write unit: a deletion with a condition that no item satisfies. The client remembers the answer for all
 * names, a refusal for a minute, so later calls send no request. Each concurrent call sends its own. The end of the
 * acquisition, or refused credentials, resolve with `unknown`.
 */
export async function permissionForPlaces({
  context,
  ref,
  cancellation: { signal },
}: RecordAcquisition): Promise<Permission | "unknown"> {
  const remembered = known.get(context);
  if (remembered !== undefined && context.nowMs() < remembered.untilMs)
    return remembered.permission;
  const { queue } = context.format;
  if (queue === undefined) return "denied";
  // No place has ticket 0.
  const unknown = { maybe: [context.random.id()] };
  const answer = await removeEntry(context, queue.entryOf(ref, 0n), unknown, signal);
  const permission = permissionIn(context, answer);
  const isRefused = permission === "denied";
  const untilMs = isRefused ? context.nowMs() + REFUSAL_REMEMBERED_MS : Number.POSITIVE_INFINITY;
  if (permission !== "unknown") known.set(context, { permission, untilMs });
  return permission;
}

function permissionIn(context: AcquireContext, answer: WriteAnswer): Permission | "unknown" {
  if (isJudged(answer)) return "allowed";
  if (answer.kind !== "misconfigured") return "unknown";
  const { error } = answer;
  if (isHoldfastError(error, "access-denied") && !isRefusedCredentials(error)) return "denied";
  if (context.mayHeal(error)) return "unknown";
  throw error;
}
