import type { AcquireContext } from "../core/acquire/context.js";
import { requireCapability } from "../core/record/capability.js";
import { checkName } from "../core/record/name.js";
import type { FoundPermits } from "../core/record/permits.js";
import { titleOf, unavailableError, unreadable } from "../core/unavailable.js";
import { HoldfastError } from "../errors.js";
import { checkPermits } from "../locks/semaphore.js";
import { PERMITS } from "../native/native-permits.js";
import type { Unanswered } from "../platform/retry.js";
import { fewTries, TRIES } from "./few-tries.js";

/** The result of `setLimit()`. */
export interface LimitChange {
  /** The limit before; undefined if the semaphore had none. */
  readonly before: number | undefined;
  readonly limit: number;
  /** The total weight of the held permits; may be above the new limit. */
  readonly used: number;
}

/**
 * Changes the limit of a semaphore. Each write requires the number of changes that the client has read, so a late copy
 * of a request never restores an earlier limit. Concurrent changes take effect in the order in which
 * DynamoDB applies them.
 */
export async function changeLimit(
  context: AcquireContext,
  name: string,
  limit: number,
): Promise<LimitChange> {
  checkPermits(limit);
  const permits = requireCapability(context.format, PERMITS);
  const ref = permits.refOf("semaphore", checkName(name));
  // Without a table, no limit is stored, and none counts.
  if (context.isUnlocked) return { before: undefined, limit, used: 0 };
  const read = await answered(context, name, () =>
    context.read({ key: ref.key, consistent: true }),
  );
  let before = readable(permits.readAll(read.item), name, context);
  for (let rounds = 0; rounds < TRIES; rounds += 1) {
    const changes = before.state === "shared" ? before.limitChanges : 0;
    const options = { fenceSeed: context.fenceSeed(ref), wallMs: context.wallMs(), changes };
    const written = await answered(context, name, () =>
      context.write(permits.setLimit(ref, limit, options)),
    );
    const after = readable(permits.readAll(written.item), name, context);
    // After a lost answer the same write is refused, and the item shows its effect.
    const isDone =
      after.state === "shared" && after.limitChanges > changes && after.limit === limit;
    if (isDone) {
      return {
        before: before.state === "shared" ? before.limit : undefined,
        limit,
        used: after.used,
      };
    }
    before = after;
  }
  throw new HoldfastError(
    "outcome-unknown",
    `${titleOf([name], "semaphore")} may have another limit than ${limit}: other clients changed its limit ${TRIES} ` +
      "times during this call. Call setLimit() again.",
    { lockName: name },
  );
}

function readable(found: FoundPermits, name: string, { format }: AcquireContext) {
  if (found.state === "absent" || found.state === "shared") return found;
  throw unreadable({ name, kind: "semaphore" }, found, format.name);
}

function answered<A extends { readonly kind: string }>(
  context: AcquireContext,
  name: string,
  ask: () => Promise<A | Unanswered>,
) {
  const title = titleOf([name], "semaphore");
  return fewTries(context, ask, (answer) =>
    unavailableError(name, "may still have its old limit", answer, title),
  );
}
