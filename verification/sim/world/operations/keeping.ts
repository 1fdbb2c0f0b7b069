import { type Handle, handleOf } from "../../../../packages/holdfast/src/core/hold/lease.js";
import type { Lease, LockOptions } from "../../../../packages/holdfast/src/index.js";
import { inMs } from "../../../../packages/holdfast/src/internal/duration.js";
import { type Keep, keepFor } from "../../../../packages/holdfast/src/keep/index.js";
import type { SeededRandom } from "../../../../packages/testing/src/time/seeded-random.js";
import type { Incarnation } from "../../incarnation.js";

/** How a process keeps a lock between its uses. */
export interface Keeping {
  readonly options: LockOptions;
  readonly keep: Keep;
}

/** Draws how a lock is kept, in two of five runs; and draws nothing in the others. */
export function keepingOf({ run }: Incarnation, random: SeededRandom): Keeping | undefined {
  const { plan } = run;
  if (plan.world === undefined || ![2, 3].includes(plan.seed % 5) || random.chance(0.25))
    return undefined;
  const keep = keepFor(inMs(300 + 300 * (plan.seed % 5)));
  // Most uses fit to the last grant, and some do not.
  const leaseMs = random.chance(0.85) ? plan.leaseMs[0] : random.integer(...plan.leaseMs);
  return { options: { lease: inMs(leaseMs), keep }, keep };
}

/** The fence of the grant in the table; each use of a kept grant has a fence of its own. */
export function grantFenceOf(lease: Lease): bigint {
  const [hold] = (handleOf("grantFenceOf()", lease) as Handle).holds;
  return hold?.held.fence ?? lease.fence;
}

/** Notes that a use begins. */
export function noteUse(self: Pick<Incarnation, "note">, lease: Lease, { keepMs }: Keep): void {
  const { name, fence } = lease;
  const [hold] = handleOf("noteUse()", lease).holds;
  if (hold?.kept === undefined) return;
  self.note({ kind: "use", name, fence, of: hold.held.fence, keepMs });
}
