import type { Variant } from "./variant.js";

const DECIDE = "src/core/record/decide.ts";
const OBSERVATION = "src/core/record/observation.ts";
const KERNEL = "src/core/context.ts";

/** Errors in how a rival's death is judged. */
export const WATCHES: readonly Variant[] = [
  {
    name: "no-margins",
    what: "neither the holder nor the watcher allows for drift",
    rules: ["R2", "R3"],
    edits: [
      {
        file: DECIDE,
        from: "return leaseMs * (1 + 2 * maxClockDrift);",
        to: "return leaseMs;",
      },
      {
        file: DECIDE,
        from: "return leaseMs * (1 - 2 * maxClockDrift) - bootStepMs;",
        to: "return leaseMs;",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 300 },
  },
  {
    name: "no-margin-of-holder",
    what: "the holder does not stop early",
    rules: ["R2"],
    edits: [
      {
        file: DECIDE,
        from: "return leaseMs * (1 - 2 * maxClockDrift) - bootStepMs;",
        to: "return leaseMs;",
      },
    ],
    caughtBy: { invariant: "deadline", within: 60 },
  },
  {
    name: "no-margin-of-watcher",
    what: "the watcher makes no allowance for drift",
    rules: ["R3"],
    edits: [
      {
        file: DECIDE,
        from: "return leaseMs * (1 + 2 * maxClockDrift);",
        to: "return leaseMs;",
      },
    ],
    caughtBy: { invariant: "ownership", within: 150 },
  },
  {
    name: "own-lease-length",
    what: "a watch lasts as long as the watcher's own lease, not the holder's",
    rules: ["R3"],
    edits: [
      {
        file: "src/core/acquire/loop.ts",
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
    what: "the holder writes when its lease ends by its wall clock, and rivals go by theirs",
    rules: ["R3", "R11"],
    edits: [
      {
        file: "src/formats/native.ts",
        from: '      "leaseMs",\n      "session",\n',
        to: '      "leaseMs",\n      "expiresAt",\n      "session",\n',
      },
      {
        file: "src/formats/native.ts",
        from: "    leaseMs: Number(leaseMs),\n",
        to: `    leaseMs: Number(leaseMs),
    endsAtMs: Number(numberIn(item, "expiresAt") ?? 0n) * 1000 - RETENTION_MS,
`,
      },
      {
        file: DECIDE,
        from: "seen.sinceMs + watchMs(record.leaseMs, now.maxClockDrift);",
        to: "now.nowMs + (record.endsAtMs - now.wallMs);",
      },
      {
        file: "src/core/record/observation.ts",
        from: "  const { holder, leaseMs, notBeforeWallMs, session } = record;\n",
        to: `  const { holder, leaseMs, notBeforeWallMs, session } = record;
  known.endsAtMs = record.endsAtMs;
`,
      },
      {
        file: KERNEL,
        from: "      nowMs: this.nowMs(),\n",
        to: "      nowMs: this.nowMs(),\n      wallMs: this.wallMs(),\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "watch-before-read",
    what: "a watch counts from before the request that showed the holder",
    rules: ["R3"],
    edits: [
      {
        file: KERNEL,
        from: "this.observations.see(ref.id, found, strength, this.nowMs());",
        to: "this.observations.see(ref.id, found, strength, this.sentMs);",
      },
      {
        file: KERNEL,
        from: '    return this.#told("write",',
        to: '    this.sentMs = this.nowMs();\n    return this.#told("write",',
      },
      {
        file: KERNEL,
        from: '    return this.#told("read",',
        to: '    this.sentMs = this.nowMs();\n    return this.#told("read",',
      },
    ],
    caughtBy: { invariant: "ownership", within: 300, shortRange: 3 },
  },
  {
    name: "watch-not-restarted",
    what: "a change of holder or version does not start the watch again",
    rules: ["R3"],
    edits: [
      {
        file: OBSERVATION,
        from: "isSame(previous.record, record) ? previous.sinceMs : nowMs",
        to: "previous.sinceMs",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 20 },
  },
  {
    name: "watch-of-holder-alone",
    what: "a renewal does not start the watch again",
    rules: ["R3"],
    edits: [
      {
        file: OBSERVATION,
        from: "    before.holder === now.holder &&\n    before.version === now.version\n",
        to: "    before.holder === now.holder\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "watch-of-version-alone",
    what: "a change of holder under the same number of a version does not start the watch again",
    rules: ["R3"],
    edits: [
      {
        file: OBSERVATION,
        from: "    before.holder === now.holder &&\n    before.version === now.version\n",
        to: "    before.version === now.version\n",
      },
    ],
    caughtBy: {
      test: "test/core/safety.test.ts",
      title: "is watched anew when it changed hands without a change of the version's number",
    },
  },
  {
    name: "watch-by-wall-clock",
    what: "a watch is timed by the wall clock",
    rules: ["R3"],
    edits: [
      {
        file: KERNEL,
        from: "    return this.clock.monotonicMs();\n",
        to: "    return this.clock.wallMs();\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 600, shortRange: 4 },
  },
  {
    name: "stale-read-believed",
    what: "an eventually consistent read that shows the past replaces what is known",
    rules: ["R3"],
    edits: [
      {
        file: OBSERVATION,
        from: '  if (strength === "eventual" && isStale(previous.record, record)) return previous;\n',
        to: "",
      },
    ],
    caughtBy: {
      test: "test/core/safety.test.ts",
      title: "is not judged by readings that come from the past",
    },
  },
  {
    name: "absence-from-eventual-read",
    what: "an eventually consistent read is believed that there is no record",
    rules: ["R3"],
    edits: [
      {
        file: "src/core/acquire/loop.ts",
        from: "    if (answer.item === undefined) return this.#look();\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "test/core/safety.test.ts",
      title: "is not claimed because an eventual read says that there is no record",
    },
  },
];
