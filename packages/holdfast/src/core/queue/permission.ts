import { isHoldfastError } from "../../errors.js";
import { isRefusedCredentials } from "../../platform/credentials.js";
import type { WriteAnswer } from "../../platform/table.js";
import type { AcquireContext } from "../acquire/context.js";
import type { RecordAcquisition } from "../acquire/settings.js";
import { removeEntry } from "../hold/release.js";

type Permission = "allowed" | "denied";

const known = new WeakMap<AcquireContext, Permission>();

/**
 * Whether the client may write and delete places in queues. The permissions of a mutex do not include this. A client
 * that took a ticket and was then refused its place would block the lock: claims without a ticket wait behind it.
 *
 * Costs one write unit: a deletion with a condition that no item satisfies. The client remembers the answer for all
 * names, so later calls send no request. Each concurrent call sends its own. The end of the acquisition, or refused
 * credentials, resolve with `unknown`.
 */
export async function permissionForPlaces({
  context,
  ref,
  cancellation: { signal },
}: RecordAcquisition): Promise<Permission | "unknown"> {
  const remembered = known.get(context);
  if (remembered !== undefined) return remembered;
  const { queue } = context.format;
  if (queue === undefined) return "denied";
  // No place has ticket 0.
  const unknown = { maybe: [context.random.id()] };
  const answer = await removeEntry(context, queue.entryOf(ref, 0n), unknown, signal);
  const permission = permissionIn(context, answer);
  if (permission !== "unknown") known.set(context, permission);
  return permission;
}

function permissionIn(context: AcquireContext, answer: WriteAnswer): Permission | "unknown" {
  if (answer.kind === "applied" || answer.kind === "refused") return "allowed";
  if (answer.kind !== "misconfigured") return "unknown";
  const { error } = answer;
  if (isHoldfastError(error, "access-denied") && !isRefusedCredentials(error)) return "denied";
  if (context.mayHeal(error)) return "unknown";
  throw error;
}
