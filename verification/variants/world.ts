import { replacedBy } from "../../packages/holdfast/src/core/acquire/grant.js";
import { exportLease } from "../../packages/holdfast/src/core/hold/export.js";
import { Hold } from "../../packages/holdfast/src/core/hold/hold.js";
import { Election } from "../../packages/holdfast/src/election/election.js";
import { Standby } from "../../packages/holdfast/src/election/standby.js";
import { MultiPlace } from "../../packages/holdfast/src/locks/multi-place.js";
import type { Variant } from "./variant.js";

/** Defects that show only where processes do several things on the same names. */
export const WORLD: readonly Variant[] = [
  {
    name: "resign-meant-for-anybody",
    what: "A leader obeys a request to resign that names an earlier leader.",
    rules: [],
    edits: [
      {
        in: { Election },
        from: "if (request?.holder !== term.holder) return;",
        to: "if (request === undefined) return;",
      },
    ],
    caughtBy: { invariant: "obedience", within: 40, of: "crashing world" },
  },
  {
    name: "late-read-without-pause",
    what: "A candidate whose last read before a takeover was not answered reads again without a pause.",
    rules: [],
    edits: [
      {
        in: { Standby },
        from: "const isLate = !isAnswered && lastReadMs <= 0;",
        to: "const isLate = false;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/election/election.test.ts",
      title: "reads a throttled table with pauses, also when the takeover is near",
    },
  },
  {
    name: "one-place-of-several-kept",
    what: "A waiter for several locks that lost its place in one queue keeps its place in the last queue.",
    rules: ["R14"],
    edits: [
      {
        in: { MultiPlace },
        from: "for (const place of this.#places) place.leave();",
        to: "for (const place of this.#places.slice(0, -1)) place.leave();",
      },
    ],
    caughtBy: { invariant: "nothing left", within: 10, of: "world" },
  },
  {
    name: "import-left-behind",
    what: "The rollback of an import requires its own id, so it fails while the import is in flight.",
    rules: ["R14"],
    edits: [
      {
        in: { replacedBy },
        from: 'return decision.kind === "import" ? { known: decision.from } : { watched: decision };',
        to: 'return decision.kind === "import" ? undefined : { watched: decision };',
      },
    ],
    caughtBy: { invariant: "no orphan", within: 100, of: "late world" },
  },
  {
    name: "export-keeps-its-claim",
    what: "An exporter does not remember that it abandoned its id, and waits for a late copy of its own claim.",
    rules: ["R14"],
    edits: [{ in: { exportLease }, from: "    context.abandon(held.holder);\n", to: "" }],
    caughtBy: { invariant: "no orphan", within: 400, of: "late world" },
  },
  {
    name: "released-leases-kept",
    what: "The client keeps each lease in memory after its end.",
    rules: ["R13"],
    edits: [{ in: { Hold }, from: "    this.context.holds.delete(this);\n", to: "" }],
    caughtBy: { invariant: "memory", within: 10, of: "late world" },
  },
  {
    name: "yield-once-for-all",
    what: "A candidate lets a preferred one go first after the first leader only.",
    rules: [],
    edits: [
      {
        in: { Standby },
        from: "if (this.#yielding?.last !== last) {",
        to: "if (this.#yielding === undefined) {",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/election/election.test.ts",
      title: "goes first after each leader that it has asked to resign",
    },
  },
];
