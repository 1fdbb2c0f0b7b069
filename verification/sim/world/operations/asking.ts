import type { Lease } from "../../../../packages/holdfast/src/index.js";
import { isHoldfastError, lossSignal } from "../../../../packages/holdfast/src/index.js";
import {
  announce,
  type IfHeld,
  interrupt,
} from "../../../../packages/holdfast/src/requests/index.js";
import type { SeededRandom } from "../../../../packages/testing/src/time/seeded-random.js";
import type { Incarnation } from "../../incarnation.js";
import { grantFenceOf } from "./keeping.js";

/** How a waiter asks the holder, and whether holders obey; in every fifth run. */
export interface Asks {
  readonly ifHeld: IfHeld | undefined;
  readonly obeys: boolean;
}

/** Draws how a waiter of a mutex asks. Draws nothing in the other runs. */
export function asksOf({ run }: Incarnation, random: SeededRandom): Asks {
  if (run.plan.world === undefined || run.plan.seed % 5 !== 2) return NO_ASKS;
  const ifHeld = random.chance(0.5) ? interrupt : random.chance(0.3) ? announce : undefined;
  return { ifHeld, obeys: random.chance(0.7) };
}

const NO_ASKS: Asks = { ifHeld: undefined, obeys: true };

/**
 * Watches a lease that others may interrupt: it must not be renewed afterwards, so that it ends within its length.
 * Returns whether the holder should stop.
 */
export function watchInterruption(self: Incarnation, lease: Lease, { obeys }: Asks): () => boolean {
  const { name } = lease;
  const fence = grantFenceOf(lease);
  const { clock } = self.process;
  let untilMs: number | undefined;
  lease.signal.addEventListener("abort", () => {
    if (!isHoldfastError(lease.signal.reason, "interrupted")) return;
    self.note({ kind: "obeyed", name, fence, what: "interrupted" });
    untilMs = clock.monotonicMs() + lease.leaseMs;
  });
  return () => {
    if (untilMs === undefined || lossSignal(lease).aborted) return false;
    if (clock.monotonicMs() + lease.remainingMs() > untilMs + 1) {
      self.run.fail("in time", `${self.name} renewed "${name}" after it was interrupted`);
    }
    return obeys;
  };
}
