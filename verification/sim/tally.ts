import type { Violation } from "./history.js";
import type { PlanKind } from "./plan.js";

/** What can be added up over runs. */
export interface Tally {
  readonly simulatedMs: number;
  readonly grants: number;
  readonly faults: Readonly<Record<string, number>>;
}

/** Seeds for one worker: from the first up to, and without, the last. */
export interface Job {
  readonly from: number;
  readonly to: number;
  readonly lengthMs: number;
}

/** What a worker tells of one seed. */
export interface Done extends Tally {
  readonly seed: number;
  readonly kind: PlanKind;
  readonly violations: readonly Violation[];
}
