import type { Violation } from "./history.js";
import type { PlanKind } from "./plan.js";

/** The sums over runs. */
export interface Tally {
  readonly simulatedMs: number;
  readonly grants: number;
  readonly faults: Readonly<Record<string, number>>;
}

/** The seeds of one worker: from the first up to, but without, the last. */
export interface Job {
  readonly from: number;
  readonly to: number;
  readonly lengthMs: number;
  readonly isWorld: boolean;
}

/** A worker's report on one seed. */
export interface Done extends Tally {
  readonly seed: number;
  readonly kind: PlanKind;
  readonly violations: readonly Violation[];
}
