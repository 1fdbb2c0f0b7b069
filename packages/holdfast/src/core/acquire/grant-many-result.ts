import type { Grant } from "../record/format.js";
import type { ObservedRecord } from "../record/observation.js";
import type { Found, HeldRecord } from "../record/record.js";

/**
 * Computes the record after a grant from the record before the grant, since the answer to a transaction does not show
 * the new items. Correct because the grant requires exactly `before`. Pure.
 */
export function grantedOnto(before: ObservedRecord, grant: Grant): HeldRecord {
  const known = before.state === "absent" ? undefined : before;
  const { passage } = grant;
  return {
    state: "held",
    holder: grant.holder,
    fence: (known?.fence ?? grant.fenceSeed) + 1n,
    version: (typeof known?.version === "bigint" ? known.version : 0n) + 1n,
    queue: {
      tail: known?.queue.tail,
      served: passage?.kind === "ticket" ? passage.ticket : known?.queue.served,
    },
    lastHolder: known?.lastHolder,
    owner: grant.owner,
    acquiredAt: grant.acquiredAt,
    data: grant.data,
    request: known?.request,
    leaseMs: grant.leaseMs,
    endMs: grant.endMs,
    session: undefined,
    mark: grant.holder,
    dataSeq: 0,
  };
}

/**
 * Says whether a refused transaction of grants had been applied by an earlier send. `own`: the transaction was applied,
 * and all grants are in force. `partly own`: the transaction was applied, and some grants have ended since. `others`:
 * nothing shows that the transaction was applied. `shown` has, for each record, the item found if the condition was
 * false, else undefined. A true condition does not show that the transaction was
 * applied: after the transaction all conditions are false. Pure.
 */
export function doingOf(
  shown: readonly (Found | undefined)[],
  holders: readonly string[],
): "own" | "partly own" | "others" {
  const isOwn = (found: Found, index: number): boolean =>
    found.state === "held" && found.holder === holders[index];
  const own = shown.filter((found, index) => found !== undefined && isOwn(found, index)).length;
  const all = shown.filter((found) => found !== undefined).length;
  if (own === 0) return "others";
  return own === all ? "own" : "partly own";
}
