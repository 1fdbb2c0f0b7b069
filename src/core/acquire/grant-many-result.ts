import type { Grant } from "../record/format.js";
import type { ObservedRecord } from "../record/observation.js";
import type { Found, HeldRecord } from "../record/record.js";

/**
 * What a grant has made of a record, where it required exactly what was seen of that: a transaction's
 * answer does not show it. Pure.
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
    forced: known?.forced,
    leaseMs: grant.leaseMs,
    session: undefined,
    mark: grant.holder,
    dataSeq: 0,
  };
}

/**
 * Whose doing it is that a transaction of grants was refused: `own`, it had been applied, and its answer
 * was lost; `partly own`, that too, and some of what it granted is gone; `others`, it was not, as far as
 * this shows. `shown` has what was found where a condition did not hold, and undefined where one did; one
 * that did says nothing, since none of them can hold once all were applied. Pure.
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
