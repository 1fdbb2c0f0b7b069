import { sightingNotes } from "../../packages/formats/src/sightings.js";
import { noteSighting } from "../../packages/holdfast/src/core/acquire/note-sighting.js";
import { deadAtMs } from "../../packages/holdfast/src/core/record/decide.js";
import { observe, withSighting } from "../../packages/holdfast/src/core/record/observation.js";
import type { Variant } from "./variant.js";

const TEST = "packages/formats/test/sightings.test.ts";
const BEFORE_DEADLINE = {
  test: TEST,
  title: "never let a process take over before the holder's deadline (server at +%i ms)",
};
const OF_RENEWING_HOLDER = {
  test: TEST,
  title: "never let a process take over from a holder that renews",
};

/** Defects in the observations beside records without an end of the lease. */
export const SIGHTINGS: readonly Variant[] = [
  {
    name: "sighting-of-any-version",
    what: "A note counts for the record, whatever holder, version and length it names, and no later note replaces it.",
    rules: ["R3"],
    edits: [
      {
        in: { withSighting },
        from: `record.state === "held" &&
    record.holder === sighting.holder &&
    record.version === sighting.version &&
    record.leaseMs === sighting.leaseMs;`,
        to: 'record.state === "held";',
      },
      {
        in: { sightingNotes },
        from: "all(IS_NOTE, any(isOfAnother, isLater))",
        to: "all(IS_NOTE, isLater)",
      },
    ],
    caughtBy: OF_RENEWING_HOLDER,
  },
  {
    name: "sighting-of-earlier-version",
    what: "A client that reads a note of an earlier version counts it for the record.",
    rules: ["R3"],
    edits: [
      {
        in: { withSighting },
        from: "record.version === sighting.version &&",
        to: "record.version !== undefined &&",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/record/observation.test.ts",
      title: "ignores a sighting of %s",
    },
  },
  {
    name: "sighting-kept-after-change",
    what: "A sighting of the record counts after the record has changed.",
    rules: ["R3"],
    edits: [
      {
        in: { observe },
        from: "if (!isSame(previous.record, record)) return { record, sinceMs: nowMs, dated };",
        to: `if (!isSame(previous.record, record)) {
    return { record, sinceMs: nowMs, dated, sightedByMs: previous.sightedByMs };
  }`,
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/record/observation.test.ts",
      title: "lasts while the record is unchanged, and ends with any change",
    },
  },
  {
    name: "sighting-without-time",
    what: "A note of the same version is enough for a takeover, whatever the table's time.",
    rules: ["R3"],
    edits: [
      {
        in: { deadAtMs },
        from: "const leftMs = Math.max(0, endMs + maxClockErrorMs - dated.dateMs);",
        to: `const isSighted = sightedEndMs !== undefined;
  const leftMs = isSighted ? 0 : Math.max(0, endMs + maxClockErrorMs - dated.dateMs);`,
      },
      {
        in: { deadAtMs },
        from: "Math.max(0, endMs + maxClockErrorMs - tableNowMs)",
        to: "isSighted ? 0 : Math.max(0, endMs + maxClockErrorMs - tableNowMs)",
      },
    ],
    caughtBy: BEFORE_DEADLINE,
  },
  {
    name: "sighting-without-bound",
    what: "A takeover by a note does not allow for servers whose clocks differ.",
    rules: ["R3"],
    edits: [
      {
        in: { deadAtMs },
        from: "const leftMs = Math.max(0, endMs + maxClockErrorMs - dated.dateMs);",
        to: `const boundMs = sightedEndMs === undefined ? maxClockErrorMs : 0;
  const leftMs = Math.max(0, endMs + boundMs - dated.dateMs);`,
      },
      {
        in: { deadAtMs },
        from: "Math.max(0, endMs + maxClockErrorMs - tableNowMs)",
        to: "Math.max(0, endMs + boundMs - tableNowMs)",
      },
    ],
    caughtBy: BEFORE_DEADLINE,
  },
  {
    name: "sighting-rounded-down",
    what: "A note has the `Date` of the answer, which is up to a second before the answer.",
    rules: ["R3"],
    edits: [
      {
        in: { noteSighting },
        from: "const byMs = context.tableClock.latestMs();",
        to: "const byMs = seen.dated.dateMs as number | undefined;",
      },
    ],
    caughtBy: BEFORE_DEADLINE,
  },
  {
    name: "sighting-refreshed",
    what: "Each refused client replaces the note of the same version, so the table's time never passes the end.",
    rules: ["R3"],
    edits: [
      {
        in: { sightingNotes },
        from: "all(IS_NOTE, any(isOfAnother, isLater))",
        to: "IS_NOTE",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "keep the first note of a version, and one item a lock",
    },
  },
];
