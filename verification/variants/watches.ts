import { AcquireLoop } from "../../packages/holdfast/src/core/acquire/loop.js";
import { ClientContext } from "../../packages/holdfast/src/core/context.js";
import { decide, holdMs, watchMs } from "../../packages/holdfast/src/core/record/decide.js";
import {
  Observations,
  observe,
  observedOf,
} from "../../packages/holdfast/src/core/record/observation.js";
import { TableAccess } from "../../packages/holdfast/src/core/table-access.js";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import type { Variant } from "./variant.js";

/** Defects in how a client judges a rival dead. */
export const WATCHES: readonly Variant[] = [
  {
    name: "no-margins",
    what: "Neither the holder nor the watcher allows for drift.",
    rules: ["R2", "R3"],
    edits: [
      {
        in: { watchMs },
        from: "return leaseMs * (1 + 2 * maxClockDrift);",
        to: "return leaseMs;",
      },
      {
        in: { holdMs },
        from: "return leaseMs * (1 - 2 * maxClockDrift) - bootStepMs;",
        to: "return leaseMs;",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 300 },
  },
  {
    name: "no-margin-of-holder",
    what: "The holder's deadline has no margin for drift.",
    rules: ["R2"],
    edits: [
      {
        in: { holdMs },
        from: "return leaseMs * (1 - 2 * maxClockDrift) - bootStepMs;",
        to: "return leaseMs;",
      },
    ],
    caughtBy: { invariant: "deadline", within: 60 },
  },
  {
    name: "no-margin-of-watcher",
    what: "The watcher's wait has no margin for drift.",
    rules: ["R3"],
    edits: [
      {
        in: { watchMs },
        from: "return leaseMs * (1 + 2 * maxClockDrift);",
        to: "return leaseMs;",
      },
    ],
    caughtBy: { invariant: "ownership", within: 150 },
  },
  {
    name: "own-lease-length",
    what: "A watch lasts for the watcher's own lease, not for the holder's.",
    rules: ["R3"],
    edits: [
      {
        in: { AcquireLoop },
        from: "    return this.#context.decide(this.#ref, this.#settings.onlyIfExists, this.#settings.passage);\n",
        to: `    const seen = this.#context.observations.of(this.#ref.id)?.record;
    if (seen?.state === "held") Object.assign(seen, { leaseMs: this.#settings.leaseMs });
    return this.#context.decide(this.#ref, this.#settings.onlyIfExists, this.#settings.passage);
`,
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "wall-clock-expiry",
    what: "The holder writes the end of its lease on its wall clock, and rivals compare with their wall clocks.",
    rules: ["R3", "R11"],
    edits: [
      {
        in: { nativeFormat },
        from: '  "leaseMs",\n  "leaseEnd",\n',
        to: '  "leaseMs",\n  "expiresAt",\n  "leaseEnd",\n',
      },
      {
        in: { nativeFormat },
        from: "    leaseMs: Number(leaseMs),\n",
        to: `    leaseMs: Number(leaseMs),
    endsAtMs: Number(numberIn(item, "expiresAt") ?? 0n) * 1000 - 7 * 24 * 3_600_000,
`,
      },
      {
        in: { decide },
        from: "deadAtMs(seen, record.leaseMs, now)",
        to: "now.nowMs + (record.endsAtMs - now.wallMs)",
      },
      {
        in: { observedOf },
        from: "  const { holder, leaseMs, endMs, notBeforeWallMs, session } = record;\n",
        to: `  const { holder, leaseMs, endMs, notBeforeWallMs, session } = record;
  known.endsAtMs = record.endsAtMs;
`,
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "watch-before-read",
    what: "A watch counts from before the request which showed the holder.",
    rules: ["R3"],
    edits: [
      {
        in: { ClientContext },
        from: "this.observations.see(ref.id, found, consistency, this.nowMs(), dateMs);",
        to: "this.observations.see(ref.id, found, consistency, this.sentMs, dateMs);",
      },
      {
        in: { TableAccess },
        from: "    const tellsUnits = hasSubscribers",
        to: "    this.sentMs = this.nowMs();\n    const tellsUnits = hasSubscribers",
      },
    ],
    caughtBy: { invariant: "ownership", within: 300 },
  },
  {
    name: "watch-not-restarted",
    what: "A change of holder or version does not restart the watch.",
    rules: ["R3"],
    edits: [
      {
        in: { observe },
        from: "return { record, sinceMs: nowMs, dated };\n  const { sinceMs,",
        to: "return { record, sinceMs: previous.sinceMs, dated };\n  const { sinceMs,",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 20 },
  },
  {
    name: "watch-of-holder-alone",
    what: "A renewal does not restart the watch.",
    rules: ["R3"],
    edits: [
      {
        in: { Observations },
        from: "    before.holder === now.holder &&\n    before.version === now.version\n",
        to: "    before.holder === now.holder\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "watch-of-version-alone",
    what: "A change of holder with an equal version does not restart the watch.",
    rules: ["R3"],
    edits: [
      {
        in: { Observations },
        from: "    before.holder === now.holder &&\n    before.version === now.version\n",
        to: "    before.version === now.version\n",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/safety.test.ts",
      title: "is watched anew after a change of the holder at the same version number",
    },
  },
  {
    name: "watch-by-wall-clock",
    what: "A watch uses the wall clock.",
    rules: ["R3"],
    edits: [
      {
        in: { TableAccess },
        from: "    return this.clock.monotonicMs();\n",
        to: "    return this.clock.wallMs();\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 600 },
  },
  {
    name: "stale-read-believed",
    what: "A stale, eventually consistent read replaces newer observations.",
    rules: ["R3"],
    edits: [
      {
        in: { observe },
        from: 'if (consistency === "eventual" && isStale(previous.record, record)) {',
        to: 'if (consistency === "eventual" && record === undefined) {',
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/safety.test.ts",
      title: "is not judged by stale reads",
    },
  },
  {
    name: "created-again-unseen",
    what: "Eventually consistent reads never show a record that was created again with lower numbers.",
    rules: [],
    edits: [
      {
        in: { observe },
        from: "if (nowMs - staleSinceMs <= LONGEST_LAG_MS) return",
        to: "if (nowMs >= staleSinceMs) return",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/record/observation.test.ts",
      title: "believes a lower version after ten seconds without another, and begins a new watch",
    },
  },
  {
    name: "absence-from-eventual-read",
    what: "An eventually consistent read counts as proof that the record is absent.",
    rules: ["R3"],
    edits: [
      {
        in: { AcquireLoop },
        from: "    if (found.item === undefined) return this.#look();\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/safety.test.ts",
      title: "is not claimed because of an eventual read without a record",
    },
  },
];
