import { Assignment } from "../../packages/holdfast/src/assign/assignment.js";
import { Claims } from "../../packages/holdfast/src/assign/claims.js";
import { Group } from "../../packages/holdfast/src/assign/group.js";
import { Place } from "../../packages/holdfast/src/assign/place.js";
import type { Variant } from "./variant.js";

const TEST = "packages/holdfast/test/assign/assign.test.ts";
const SIMULATION = {
  test: "test/sim/assign.test.ts",
  title: "never run a name twice at once, and run all of them evenly once the faults stop",
};

/** Defects in assignments. */
export const ASSIGNED: readonly Variant[] = [
  {
    name: "assigned-release-before-the-end",
    what: "A member gives a name up as soon as another one asks, and not when its run has ended.",
    rules: [],
    edits: [
      {
        in: { Place },
        from: "if (!(await settlesWithin(context.timers, stopTimeoutMs, running))) {",
        to: "if (stopTimeoutMs < 0 && !(await settlesWithin(context.timers, stopTimeoutMs, running))) {",
      },
    ],
    caughtBy: SIMULATION,
  },
  {
    name: "assigned-run-beside-the-former",
    what: "A member takes a name again although the former run of the name goes on in its process.",
    rules: [],
    edits: [
      {
        in: { Assignment },
        from: "void place.ended.then(() => {",
        to: "void place.released.then(() => {",
      },
    ],
    caughtBy: SIMULATION,
  },
  {
    name: "assigned-dead-unwatched",
    what: "No member removes the row of a dead one, so that its names stay its own.",
    rules: [],
    edits: [
      {
        in: { Group },
        from: "if (next === undefined || !(await this.isOver(next))) return;",
        to: "if (next !== undefined) await this.isOver(next); return;",
      },
    ],
    caughtBy: SIMULATION,
  },
  {
    name: "assigned-freed-unseen",
    what: "A member does not try again for a name that the one that had it has given up since.",
    rules: [],
    edits: [
      {
        in: { Claims },
        from: "return row !== undefined && row.freed !== missing.freed;",
        to: "return row !== undefined && row.freed < 0;",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "runs a name that its member has given up at the one that should have it",
    },
  },
  {
    name: "assigned-row-not-written-again",
    what: "A member whose row is gone does not write it again.",
    rules: [],
    edits: [
      {
        in: { Group },
        from: "if (seen !== undefined && isSame(seen, told)) {",
        to: "if (this.#rows.size > 0 && seen === undefined) return; if (seen !== undefined && isSame(seen, told)) {",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "writes its row again if it is gone",
    },
  },
];
