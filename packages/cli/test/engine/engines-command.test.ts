import { describe, expect, it } from "vitest";
import { faultOf } from "../../../../scripts/engines/fault.mjs";
import {
  type EngineResult,
  pageWith,
  summaryOf,
  tableOf,
} from "../../../../scripts/engines/table.mjs";

const FIT: EngineResult = {
  name: "good",
  version: "1.0",
  seconds: 3,
  diagnosis: {
    isFit: true,
    isCreated: true,
    problems: [],
    findings: [
      { check: "claims", level: "ok", message: "Claims have one winner." },
      {
        check: "numbers",
        level: "warning",
        message: "28 digits.",
        consequence: "No fences of | 28.",
      },
    ],
  },
  conformance: { passed: 9, failed: [{ file: "a.test.ts", title: "differs, for puts" }] },
};
const UNFIT: EngineResult = {
  name: "bad",
  version: "2.0",
  seconds: 4,
  diagnosis: {
    isFit: false,
    isCreated: false,
    problems: ["claims"],
    findings: [{ check: "claims", level: "problem", message: "Two won.", consequence: "Unsafe." }],
  },
};
const MISSING: EngineResult = { name: "absent", seconds: 0, missing: "no Java" };

describe("the judgement of an engine by `node scripts/engines/run.mjs`", () => {
  it.each([
    ["accepts the expected verdict", { isRequired: true, isFit: false }, UNFIT, undefined],
    ["accepts any verdict if none is expected", { isRequired: true }, UNFIT, undefined],
    [
      "refuses another verdict",
      { isRequired: false, isFit: true },
      UNFIT,
      "the verdict is NOT fit",
    ],
    [
      "refuses an unexpected fitness",
      { isRequired: false, isFit: false },
      FIT,
      "the verdict is fit",
    ],
    ["accepts the absence of an optional engine", { isRequired: false }, MISSING, undefined],
    ["refuses the absence of a required engine", { isRequired: true }, MISSING, "no Java"],
    ["accepts a listed failure", { isRequired: true, differs: ["differs, for "] }, FIT, undefined],
    ["refuses another failure", { isRequired: true, differs: ["x"] }, FIT, "a.test.ts: differs"],
    ["refuses a failure without a list", { isRequired: true }, FIT, "a.test.ts: differs"],
    [
      "refuses a failed test of real processes",
      { isRequired: true, isFit: true, differs: ["differs"] },
      { ...FIT, processes: { passed: 0, failed: [{ file: "b.test.ts", title: "killed" }] } },
      "b.test.ts: killed",
    ],
  ])("%s", (_title, expected, result, fault) => {
    const found = faultOf(expected, result);
    if (fault === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(fault);
  });
});

describe("the report of `node scripts/engines/run.mjs`", () => {
  it("has one line for each engine", () => {
    expect(summaryOf(FIT)).toBe(
      "good 1.0: fit; checks 1 of 2; conformance 9 passed, 1 failed; 3 s",
    );
    expect(summaryOf(UNFIT)).toBe("bad 2.0: NOT fit (claims); checks 0 of 1; 4 s");
    expect(summaryOf(MISSING)).toBe("absent: not installed: no Java");
  });

  it("has a table with each engine's verdict, differences and failed tests", () => {
    const lines = tableOf([FIT, UNFIT, MISSING]).split("\n");
    expect(lines).toContain("| good | 1.0 | fit | 1 of 2 | 9 passed, 1 failed | — |");
    expect(lines).toContain("| bad | 2.0 | **NOT fit** | 0 of 1 | — | — |");
    expect(lines).toContain("| absent | — | not installed: no Java | — | — | — |");
    expect(lines).toContain("| good | `numbers`: 28 digits. | No fences of \\| 28. |");
    expect(lines).toContain("| bad | `createTable` fails. `claims`: Two won. | Unsafe. |");
    expect(lines.slice(-2)).toEqual(["", "- good: `a.test.ts` 1"]);
  });

  it("replaces the table of the page, and refuses a page without one", () => {
    const [begin, end] = ["<!-- engines: begin -->", "<!-- engines: end -->"];
    expect(pageWith(`a\n${begin}\nold\n${end}\nb`, "now", "new")).toBe(
      `a\n${begin}\n\nnow.\n\nnew\n\n${end}\nb`,
    );
    expect(() => pageWith("a", "now", "new")).toThrow("no <!-- engines: begin -->");
  });
});
