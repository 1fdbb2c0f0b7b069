import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/** The number of cases in the list: the Java client's own tests, and its known faults. */
const CASES = 124;

interface Untested {
  readonly behaviour: string;
  readonly reason: string;
  readonly cases: readonly number[];
}

/** The cases without a test of their own. */
const UNTESTED: readonly Untested[] = [
  {
    behaviour: "a read and a write for each acquisition; which of the two fails",
    reason: "one write here, compared with the recordings in aws-lock-client.test.ts",
    cases: [16],
  },
  {
    behaviour: "data lost between two holders without acquireReleasedLocksConsistently",
    reason:
      "a fault of the Java client; a released row is taken as seen, and a refusal shows its present state",
    cases: [41],
  },
  {
    behaviour: "the bound of the cache of observations, and the cost of an eviction",
    reason: "one bound for all formats: packages/holdfast/test/core/record/observation.test.ts",
    cases: [53, 54],
  },
  {
    behaviour: "a missing timeUnit; data and their deletion in one heartbeat",
    reason: "excluded by types",
    cases: [66, 109],
  },
  { behaviour: "holdLockOnServiceUnavailable", reason: "no such option", cases: [72] },
  {
    behaviour: "listings of more than one page, and of empty pages",
    reason: "the same for all formats: test/admin/looking.test.ts, test/conformance",
    cases: [102],
  },
  {
    behaviour: "states of the table, and errors of reading it",
    reason: "packages/holdfast/test/table",
    cases: [104, 105],
  },
  {
    behaviour: "equals, toString, joined ids, an interrupted thread",
    reason: "Java objects; names of two parts stay separate",
    cases: [116, 117, 119],
  },
  {
    behaviour: "both clients on one table",
    reason: "run beside the original by npm run interop",
    cases: [120, 121, 122, 123, 124],
  },
];

const textOf = (path: string): string =>
  readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

/** The numbers at the start of the tests' titles: "29, 30.", "47 to 50, 55.", "(115)". */
function numbersIn(path: string): number[] {
  const titles = [...textOf(path).matchAll(/"((?:\d+(?:, | to )?)+)\. |\((\d{3})\)/g)];
  return titles.flatMap(([, list, single]) =>
    (list ?? single ?? "").split(", ").flatMap((part) => {
      const [from = "", to = from] = part.split(" to ");
      const first = Number(from);
      return Array.from({ length: Number(to) - first + 1 }, (_, index) => first + index);
    }),
  );
}

describe("the list of the Java client's cases", () => {
  it("has a test or a reason for each case, and not both", () => {
    const tested = new Set([
      ...numbersIn("packages/formats/test/aws-behaviour.test.ts"),
      ...numbersIn("packages/formats/test/aws-lock-client.test.ts"),
    ]);
    const all = [...tested, ...UNTESTED.flatMap(({ cases }) => cases)];
    const expected = Array.from({ length: CASES }, (_, index) => index + 1);
    expect(all.sort((a, b) => a - b)).toEqual(expected);
  });

  it.each(UNTESTED)("has a reason for each untested case: $behaviour", ({ reason, cases }) => {
    expect(reason).not.toBe("");
    expect(cases.length).toBeGreaterThan(0);
  });
});
