import type { Checker } from "./checker.js";
import { cost } from "./cost.js";
import { atFirstSight } from "./first-sight.js";
import type { Timed, Violation } from "./history.js";
import { ownership } from "./ownership.js";
import { deadline, exclusion, fenceOrder, guardedWrites, lostIsFinal } from "./safety.js";
import { endedForGood, noSessionLeaks, sessionCost } from "./sessions.js";
import { SAFETY, type Terms } from "./terms.js";
import { inTime, kept, noIdleWait } from "./usefulness.js";
import { worldCheckers } from "./world/checkers/all.js";

/** The checkers of runs of the core; they apply to runs of the world, too. */
export const checkers = {
  exclusion,
  deadline,
  fenceOrder,
  guardedWrites,
  lostIsFinal,
  ownership,
  endedForGood,
  noSessionLeaks,
  kept,
  inTime,
  noIdleWait,
  atFirstSight,
  cost,
  sessionCost,
} as const satisfies Record<string, Checker>;

/** Returns all violations in a history, on these terms; by default on the terms of any run. */
export function check(history: readonly Timed[], terms: Terms = SAFETY): Violation[] {
  return Object.values({ ...checkers, ...worldCheckers }).flatMap((checker) =>
    checker(history, terms),
  );
}
