import type { Variant } from "./variant.js";

const TEST = "test/locks/multi-lock/multi-lock.test.ts";
const ACQUIRE = "src/locks/multi-acquire.ts";

/** Errors in what grants several locks at once. */
export const MULTI_LOCKS: readonly Variant[] = [
  {
    name: "part-granted",
    what: "those of several locks that could be had are taken, and the others not",
    rules: ["R1"],
    edits: [
      {
        file: ACQUIRE,
        from: "if (!refs.every((ref) => isGranting(context.decide(ref, false)))) return undefined;",
        to: "if (!refs.some((ref) => isGranting(context.decide(ref, false)))) return undefined;",
      },
      { file: ACQUIRE, from: "if (parts.length < refs.length) {", to: "if (parts.length < 1) {" },
    ],
    caughtBy: {
      test: TEST,
      title: "are those that a mutex and a fair lock of these names are: all or nothing",
    },
  },
  {
    name: "joint-ticket-taken-twice",
    what: "a place in several queues is taken whatever numbers were given out before",
    rules: ["R14"],
    edits: [
      {
        file: "src/formats/native.ts",
        from: 'any(isAbsent("tail"), { kind: "below", attribute: "tail", value: n(ticket) }),',
        to: 'any(isAbsent("tail"), isPresent("tail")),',
      },
    ],
    caughtBy: {
      test: TEST,
      title: "of a place, come late and without its token, puts nothing back",
    },
  },
  {
    name: "joint-ticket-by-clock",
    what: "the number for several queues comes from the clock alone",
    rules: ["R11"],
    edits: [
      {
        file: "src/locks/multi-place.ts",
        from: "if (seen !== undefined && seen > highest) highest = seen;",
        to: "if (seen !== undefined && seen > highest) highest += 0n;",
      },
    ],
    caughtBy: { test: TEST, title: "get a place also where their clock is behind" },
  },
  {
    name: "joint-ticket-below-served",
    what: "the number for several queues may lie below the last ticket granted, where the counter was lost with its record",
    rules: [],
    edits: [
      {
        file: "src/locks/multi-place.ts",
        from: "for (const seen of [tail, served]) {",
        to: "for (const seen of [tail]) {",
      },
    ],
    caughtBy: {
      test: "test/locks/fair-lock/lost-counter.test.ts",
      title: "is acquired next with another one, by a number above the last ticket granted",
    },
  },
  {
    name: "joint-grant-not-exact",
    what: "a claim of a free record does not name the fence that was seen",
    rules: ["R14"],
    edits: [
      {
        file: "src/formats/native.ts",
        from: 'return all(FREE, equals("fence", n(onto.fence)));',
        to: "return FREE;",
      },
    ],
    caughtBy: { test: TEST, title: "of a grant, come late and without its token, grants nothing" },
  },
  {
    name: "joint-grant-half-recognised",
    what: "a transaction counts as granted where one of its records says so, whatever the others say",
    rules: ["R5"],
    edits: [
      {
        file: "src/core/acquire/grant-many-result.ts",
        from: 'return own === all ? "own" : "partly own";',
        to: 'return all > 0 ? "own" : "partly own";',
      },
    ],
    caughtBy: {
      test: "test/core/acquire/grant-many-result.test.ts",
      title: "is its own only where every record that was shown says so",
    },
  },
  {
    name: "loss-of-one-alone",
    what: "the loss of one of several locks leaves the others as they are",
    rules: ["R8"],
    edits: [
      {
        file: "src/locks/multi-lease.ts",
        from: 'for (const { hold } of this.#parts) hold.end(isOfAll ? reason : "lost-with-another");',
        to: "void isOfAll;",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "leaves those that are never released to whoever watches them for a lease",
    },
  },
  {
    name: "joint-grant-not-undone",
    what: "a transaction of grants that was given up without an answer is left to itself",
    rules: ["R14"],
    edits: [
      {
        file: "src/core/acquire/grant-many.ts",
        from: "if (this.#repetition.unanswered === 0) continue;",
        to: "if (this.#repetition.unanswered >= 0) continue;",
      },
    ],
    caughtBy: {
      test: TEST,
      title:
        "and that was given up, lands late, and grants nobody anything for longer than a lease",
    },
  },
];
