import { Assignment } from "../../packages/holdfast/src/assign/assignment.js";
import { Claims } from "../../packages/holdfast/src/assign/claims.js";
import { Group } from "../../packages/holdfast/src/assign/group.js";
import { Place } from "../../packages/holdfast/src/assign/place.js";
import { AcquireLoop } from "../../packages/holdfast/src/core/acquire/loop.js";
import { Outages } from "../../packages/holdfast/src/core/outages.js";
import type { Variant } from "./variant.js";

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
    caughtBy: { invariant: "run over", within: 20, of: "assignments" },
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
    caughtBy: { invariant: "one run", within: 20, of: "assignments" },
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
    caughtBy: { invariant: "spread", within: 20, of: "assignments" },
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
    caughtBy: { invariant: "spread", within: 400, of: "assignments" },
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
    caughtBy: { invariant: "told", within: 20, of: "assignments" },
  },
  {
    name: "try-answers-from-an-old-look",
    what: "A call without a wait, after a refused end of the session, does not look at the lock, which may be free since.",
    rules: [],
    edits: [
      {
        in: { AcquireLoop },
        from: "if (this.#settings.waitMs === 0) {",
        to: "if (this.#settings.waitMs === 0) break;\n          if (this.#settings.waitMs < 0) {",
      },
    ],
    caughtBy: { invariant: "spread", within: 400, of: "assignments" },
  },
  {
    name: "member-without-view-accuses-others",
    what: "A member that cannot read the rows of its group takes each other member for a stranger, and tells so for each name.",
    rules: [],
    edits: [
      {
        in: { Claims },
        from: "(round.rows.has(missing.session) || !round.isRead)",
        to: "round.rows.has(missing.session)",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/assign/blind-member.test.ts",
      title: "a member that cannot read the rows tells so, once: %s",
    },
  },
  {
    name: "failed-claim-waits",
    what: "A member whose claim failed waits for the name, and tells of the outage again at each wait.",
    rules: [],
    edits: [
      {
        in: { Claims },
        from: "if (missing === undefined || missing.failure !== undefined) return true;",
        to: "if (missing === undefined) return true;",
      },
      {
        in: { Claims },
        from: "if (missing.failure !== undefined || round.isHere(name)",
        to: "if (round.isHere(name)",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/assign/blind-member.test.ts",
      title: "a member that gets no name tells so, once: %s",
    },
  },
  {
    name: "outage-told-by-each-call",
    what: "Each call that fails tells of an outage which another call has told.",
    rules: [],
    edits: [
      {
        in: { Outages },
        from: "if (this.#toldMs >= sinceMs || this.#isSilenceTold) return false;",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/assign/slot-outage.test.ts",
      title: "three waits for slots of one client tell of one outage: %s",
    },
  },
  {
    name: "assigned-run-after-a-pause",
    what: "After a pause longer than the lease, a member runs a name again before it reads the clocks.",
    rules: ["R2"],
    edits: [
      { in: { Place }, from: "while (this.isKept) {", to: "while (!this.#ending.aborted) {" },
    ],
    caughtBy: {
      test: "packages/holdfast/test/assign/assign.test.ts",
      title: "calls no run again after a pause longer than the lease",
    },
  },
  {
    name: "assigned-names-freed-with-their-runs",
    what: "`close()` frees the names of runs that go on after it.",
    rules: [],
    edits: [
      {
        in: { Assignment },
        from: "if (isRunning && this.#session?.isHeld === true)",
        to: "if (isRunning && this.#session === undefined)",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/assign/assign.test.ts",
      title: "keeps the names of runs that outlast `closeTimeout`, but not `stopTimeout`",
    },
  },
];
