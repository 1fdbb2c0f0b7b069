import type { InspectedPermit, PermitInspection } from "holdfast/admin";
import { requestText } from "../output/format.js";
import { silenceOf } from "./silence.js";
import type { Permit, Row } from "./view-types.js";

/** From readings of semaphores and read-write locks to what the page shows. Pure. */

/** Describes the permits of a record, those silent for longest first. */
export function permitsOf({ permits }: Pick<PermitInspection, "permits">): Permit[] {
  return permits.map(permitOf).sort((a, b) => partOf(b) - partOf(a));
}

function permitOf(permit: InspectedPermit): Permit {
  const { holder, owner, weight, fence, session, leaseMs, acquirableInMs } = permit;
  return {
    ...{ holder, owner, weight, fence: fence.toString(), session, leaseMs, acquirableInMs },
    ...silenceOf(permit, leaseMs),
  };
}

/** The silence as a part of the lease: leases have different lengths. */
function partOf({ state, silentMs = 0, leaseMs }: Permit): number {
  return state === "silent" ? Number.POSITIVE_INFINITY : silentMs / leaseMs;
}

/** Describes a semaphore or a read-write lock as a row of the list, with the silence of the longest silent permit. */
export function rowOfPermits(
  lock: PermitInspection,
  beside: Pick<Row, "waiters" | "longestWaitMs">,
): Row {
  const { kind, name, fence, limit, used } = lock;
  const permits = permitsOf(lock);
  const [worst] = permits;
  const { waiters, longestWaitMs } = beside;
  const silent = permits.filter(({ state }) => state !== "held").length;
  return {
    ...{ kind, name, fence: fence?.toString(), waiters, longestWaitMs },
    owner: ownersOf(lock.permits),
    state: worst?.state ?? "free",
    leaseMs: worst?.leaseMs,
    silentMs: worst?.silentMs,
    acquirableInMs: worst?.acquirableInMs ?? 0,
    request: requestText(lock),
    permits: { used, limit, holders: permits.length, silent },
  };
}

const MOST_OWNERS = 3;

/** The holders of a record in words: the first owners, in the order of their grants. */
function ownersOf(permits: readonly InspectedPermit[]): string | undefined {
  if (permits.length === 0) return undefined;
  const owners = [...new Set(permits.map(({ owner, holder }) => owner ?? holder))];
  const more = owners.length - MOST_OWNERS;
  const named = owners.slice(0, MOST_OWNERS).join(", ");
  return more > 0 ? `${named} and ${more} more` : named;
}
