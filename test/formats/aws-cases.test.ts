import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/** The list of the Java client's own tests and of its known faults has so many cases. */
const CASES = 124;

/** Those without a test, by the row of docs/formats.md that says why. */
const LEFT_OUT: Readonly<Record<string, readonly number[]>> = {
  "a read and a write for each acquisition": [16],
  "data lost between two holders": [41],
  "the bound of the cache of observations": [53, 54],
  "a missing `timeUnit`; data and their deletion in one heartbeat": [66, 109],
  "`holdLockOnServiceUnavailable`": [72],
  "listings of more than one page": [102],
  "states of the table": [104, 105],
  "`equals`, `toString`": [116, 117, 119],
  "both clients on one table": [120, 121, 122, 123, 124],
};

const textOf = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

/** The numbers at the beginning of the titles of tests: "29, 30.", "47 to 50, 55.", "(115)". */
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

describe("the cases of the Java client", () => {
  it("have each a test, or a reason in docs/formats.md, and not both", () => {
    const tested = new Set([
      ...numbersIn("test/formats/aws-behaviour.test.ts"),
      ...numbersIn("test/formats/aws-lock-client.test.ts"),
    ]);
    const all = [...tested, ...Object.values(LEFT_OUT).flat()];
    const expected = Array.from({ length: CASES }, (_, index) => index + 1);
    expect(all.sort((a, b) => a - b)).toEqual(expected);
  });

  it.each(Object.keys(LEFT_OUT))("have their reason where this says: %s", (row) => {
    const [, section = ""] = textOf("docs/formats.md").split("that is not tested as it does it");
    expect(section.split("\n## ")[0]).toContain(`\n| ${row}`);
  });
});
