import type { FormatTypes } from "../../../../packages/holdfast/src/core/record/format-types.js";
import { isHoldfastError, type Lease } from "../../../../packages/holdfast/src/index.js";
import { inMs } from "../../../../packages/holdfast/src/internal/duration.js";
import {
  listen,
  onWanted,
  shield,
  wanted,
} from "../../../../packages/holdfast/src/requests/index.js";
import type { SeededRandom } from "../../../../packages/testing/src/time/seeded-random.js";
import type { Incarnation } from "../../incarnation.js";
import { act, codeOf, type Grant } from "./holding.js";

/** What a holder does for those who ask it, and how long it holds at most. */
export interface Manners {
  readonly listenMs: number | undefined;
  readonly shields: boolean;
  readonly maxHoldMs: number | undefined;
}

/** The manners of a holder in the other runs. */
export const NO_MANNERS: Manners = { listenMs: undefined, shields: false, maxHoldMs: undefined };

/** Draws the manners of a holder, in every tenth run; and draws nothing in the others. */
export function mannersOf({ run }: Incarnation, random: SeededRandom): Manners {
  if (run.plan.world === undefined || run.plan.seed % 10 !== 2) return NO_MANNERS;
  const [leaseMs] = run.plan.leaseMs;
  return {
    listenMs: random.chance(0.4) ? random.integer(100, 400) : undefined,
    shields: random.chance(0.3),
    maxHoldMs: random.chance(0.2) ? Math.ceil(leaseMs * (0.2 + 3 * random.fraction())) : undefined,
  };
}

/** The options of a lock with these manners. */
export function limitOf({ maxHoldMs }: Manners): { readonly maxHold?: ReturnType<typeof inMs> } {
  return maxHoldMs === undefined ? {} : { maxHold: inMs(maxHoldMs) };
}

/** Begins what lasts as long as the grant. */
export function beginTalk(
  self: Incarnation,
  lease: Lease<FormatTypes>,
  { parts }: Grant,
  { listenMs, maxHoldMs }: Manners,
): void {
  for (const { name, fence, grantFence = fence } of parts) {
    if (maxHoldMs !== undefined) self.note({ kind: "limited", name, fence, maxHoldMs });
    if (listenMs !== undefined)
      self.note({ kind: "listens", name, fence: grantFence, everyMs: listenMs });
  }
  if (listenMs === undefined || !lease.isHeld) return;
  listen(lease, inMs(listenMs));
  onWanted(lease, ({ kind }) => {
    if (kind !== "interrupt") return;
    for (const { name, fence, grantFence = fence } of parts)
      self.note({ kind: "heard", name, fence: grantFence });
  });
}

/** Holds a lease within a section that no interruption cuts off, and expects that it comes at once afterwards. */
export async function shielded(
  self: Incarnation,
  random: SeededRandom,
  lease: Lease<FormatTypes>,
  grant: Grant,
): Promise<void> {
  const isStopped = (): boolean => isHoldfastError(lease.signal.reason, "interrupted");
  const longestMs = 2 * lease.leaseMs * random.fraction();
  try {
    await shield(lease, async () => {
      // Sections may overlap.
      const inner = random.chance(0.3) ? shield(lease, () => self.sleep(longestMs / 2)) : undefined;
      await self.sleep(longestMs * (random.chance(0.8) ? 0.1 : 1));
      await inner?.catch(codeOf);
      if (act(self, grant) && isStopped())
        self.run.fail("shielded", `${self.name} was told to stop in a section of "${lease.name}"`);
    });
  } catch (error) {
    codeOf(error);
  }
  if (!act(self, grant) || wanted(lease)?.kind !== "interrupt" || isStopped()) return;
  self.run.fail("shielded", `${self.name} was not told to stop after a section of "${lease.name}"`);
}
