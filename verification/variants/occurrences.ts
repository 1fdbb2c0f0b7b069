import type { Variant } from "./variant.js";

const ONCE = "src/once/once.ts";
const NATIVE = "src/formats/native.ts";
const TEST = "test/once/once.test.ts";

/** Errors in how the occurrences of a task are kept. */
export const OCCURRENCES: readonly Variant[] = [
  {
    name: "occurrence-expires",
    what: "TTL may delete the record of a task, as it may any other",
    rules: ["R10"],
    edits: [
      { file: NATIVE, from: 'if (kind !== "once") return change;', to: "if (kind) return change;" },
    ],
    caughtBy: { invariant: "begun once", within: 20, of: "occurrences" },
  },
  {
    name: "occurrence-end-unmarked",
    what: "the release of a run does not record that its occurrence has ended",
    rules: [],
    edits: [
      {
        file: ONCE,
        from: "    lease.leave({ occurrence, ended: true } satisfies Begun);\n",
        to: "",
      },
    ],
    caughtBy: { invariant: "completed stays completed", within: 20, of: "occurrences" },
  },
  {
    name: "occurrence-judged-before-its-grant",
    what: "whether an occurrence was interrupted is decided by what was seen before the grant",
    rules: [],
    edits: [
      {
        file: ONCE,
        from: "    let how: GrantEvent[",
        to: '    const wasDead = this.#context.decide(ref, false).kind === "take over";\n    let how: GrantEvent[',
      },
      {
        file: ONCE,
        from: 'const hasEnded = this.#hasEnded(ref, last, how !== "takeover");',
        to: 'const hasEnded = !wasDead || how === "hand-over";',
      },
    ],
    caughtBy: {
      test: TEST,
      title: "does not rerun what another rerun completed while its own takeover was on its way",
    },
  },
  {
    name: "occurrence-end-recorded-with-its-release",
    what: "the end of a run is recorded by its release, after `atLeastFor`, though its process may end before",
    rules: [],
    edits: [
      {
        file: ONCE,
        from: "if (reruns) await recorded(",
        to: "if (context.isLocal) await recorded(",
      },
    ],
    caughtBy: { invariant: "completed stays completed", within: 40, of: "occurrences" },
  },
  {
    name: "occurrence-end-unacknowledged",
    what: "a call resolves although the record of its occurrence's end was not acknowledged",
    rules: [],
    edits: [{ file: ONCE, from: "if (reruns) throw error;", to: "" }],
    caughtBy: { invariant: "completed stays completed", within: 100, of: "occurrences" },
  },
  {
    name: "occurrence-end-lost-in-a-refusal",
    what: "a release that is refused after an unanswered attempt counts as the record of the end",
    rules: ["R5"],
    edits: [
      {
        file: "src/core/hold/release.ts",
        from: "      throw dataNotAcknowledged(ref);\n",
        to: "",
      },
    ],
    caughtBy: {
      test: TEST,
      title:
        "rejects where its release was not acknowledged before another caller reran the occurrence",
    },
  },
  {
    name: "occurrence-end-forgotten",
    what: "a client forgets that an occurrence ended here whose record does not tell of it",
    rules: [],
    edits: [{ file: ONCE, from: "this.#unrecorded.add(keyOf(ref, occurrence));", to: "" }],
    caughtBy: {
      test: TEST,
      title: "rejects where the end was not acknowledged, and lets only others run it again: %s",
    },
  },
  {
    name: "occurrence-named-after",
    what: "the work of an occurrence begins before the record is known to name it",
    rules: [],
    edits: [
      {
        file: ONCE,
        from: "await lease.update({ occurrence, ended: false } satisfies Begun);",
        to: "void lease.update({ occurrence, ended: false } satisfies Begun).catch(() => undefined);",
      },
    ],
    caughtBy: { test: TEST, title: "names an occurrence in the record before its work begins" },
  },
];
