import { settle } from "../../packages/holdfast/src/coalesce/settle.js";
import { Work } from "../../packages/holdfast/src/coalesce/work.js";
import { RUNS } from "../../packages/holdfast/src/native/native-runs.js";
import type { Variant } from "./variant.js";

const TEST = "packages/holdfast/test/coalesce/coalesce.test.ts";
const SIMULATION = {
  test: "test/sim/coalesce.test.ts",
  title: "run after every call while a process that called lives, and never two at once",
};

/** Defects in coalesced calls. */
export const COALESCED: readonly Variant[] = [
  {
    name: "coalesced-release-unchecked",
    what: "The release of a run does not require that there was no call since its grant.",
    rules: [],
    edits: [
      {
        in: { RUNS },
        from: 'condition: all(condition, equals("calls", ran)),',
        to: "condition,",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "notes a call during a run with one write, and runs once more after it",
    },
  },
  {
    name: "coalesced-release-covers-later-calls",
    what: "The release of a run sets `ran` to the count that it finds, instead of the count at its grant.",
    rules: [],
    edits: [
      {
        in: { settle },
        from: "if (isOurs) return found.calls === covered ? AGAIN : owed(found);",
        to: "if (isOurs) { covered = found.calls ?? covered; return AGAIN; }",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "notes a call during a run with one write, and runs once more after it",
    },
  },
  {
    name: "coalesced-debt-unwatched",
    what: "A process whose call was noted does not look whether a run follows.",
    rules: [],
    edits: [
      {
        in: { Work },
        from: "void this.#using(() => this.#watch.until(number));",
        to: "if (number < 0n) void this.#watch.until(number);",
      },
    ],
    caughtBy: SIMULATION,
  },
  {
    name: "coalesced-interrupted-run-counts",
    what: "A run that was interrupted and failed covers the calls before it.",
    rules: [],
    edits: [{ in: { Work }, from: "isCut = hold.requested.isInterrupted;", to: "isCut = false;" }],
    caughtBy: {
      test: TEST,
      title: "does not count a run that was interrupted before its end: another follows",
    },
  },
  {
    name: "coalesced-run-without-a-grant",
    what: "A further run uses the lease of the run before, which has ended for its release.",
    rules: ["R2"],
    edits: [
      {
        in: { Work },
        from: "next = await nextRun(this.#working({ ...settings, attributes }), hold.held);",
        to: "next = await nextRun(this.#working({ ...settings, attributes }), hold.held).then((run) => run && { ...run, hold });",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "notes a call during a run with one write, and runs once more after it",
    },
  },
  {
    name: "interrupted-run-not-followed-by-its-rival",
    what: "A run that was interrupted is followed by the run that is owed, and not by the caller that interrupted.",
    rules: [],
    edits: [
      {
        in: { settle },
        from: 'const isInterrupted = pendingIn(found)?.kind === "interrupt";',
        to: "const isInterrupted = pendingIn(found) === undefined && found.calls === -1n;",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "gives way after an interruption, although a run is owed, which follows later",
    },
  },
  {
    name: "coalesced-release-untold-by-close",
    what: "`close()` does not know of the release of a coalesced run, and resolves while the lock stays held.",
    rules: [],
    edits: [{ in: { settle }, from: "context.releasing.add(hold);", to: "" }],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/close-beside-release.test.ts",
      title: "close() tells of the release of a coalesced run that is not acknowledged",
    },
  },
];
