import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { VARIANTS } from "../../verification/variants/all.js";
import { huntFor } from "../../verification/variants/run.js";
import { RULES } from "../../verification/variants/tables.js";
import {
  type FileResult,
  notCaught,
  runTests,
  type Tested,
} from "../../verification/variants/tested.js";
import {
  changedText,
  filesOf,
  firstSeedOf,
  isSimulated,
} from "../../verification/variants/variant.js";
import { ROOT } from "../house/source.js";

const simulated = VARIANTS.filter(isSimulated);
const tested = VARIANTS.filter((variant): variant is Tested => !isSimulated(variant));

describe("the known-bad variants", () => {
  it("are many, each with a name of its own, and one at least for every rule", () => {
    expect(VARIANTS.length).toBeGreaterThanOrEqual(30);
    expect(new Set(VARIANTS.map(({ name }) => name)).size).toBe(VARIANTS.length);
    const broken = new Set(VARIANTS.flatMap(({ rules }) => rules));
    expect(RULES.filter((rule) => !broken.has(rule))).toEqual([]);
  });

  it.each(VARIANTS)("$name changes the code, in one place each time", (variant) => {
    expect(filesOf(variant)).not.toEqual([]);
    for (const file of filesOf(variant)) {
      const text = readFileSync(join(ROOT, file), "utf8");
      expect(changedText(variant, file, text)).not.toBe(text);
    }
  });

  it("cannot replace what is not there, or is there twice", () => {
    const variant = (from: string) => ({
      name: "x",
      what: "",
      rules: [],
      edits: [{ file: "f", from, to: "" }],
      caughtBy: { invariant: "exclusion", within: 1 },
    });
    expect(() => changedText(variant("a"), "f", "bcd")).toThrow("0 times in f");
    expect(() => changedText(variant("a"), "f", "abca")).toThrow("2 times in f");
    expect(changedText(variant("a"), "f", "abc")).toBe("bc");
  });
});

// A short form of `npm run sim:variants`: one of its nine ranges of seeds, which never change. That a fresh
// seed shows no error would say nothing.
describe("the simulation", () => {
  it.concurrent.each(simulated)(
    "catches $name",
    async (variant) => {
      const { shortRange = 1 } = variant.caughtBy;
      const [found] = await huntFor(ROOT, variant, [firstSeedOf(shortRange)]);
      expect(found?.seeds, `besides: ${JSON.stringify(found?.besides)}`).not.toBeNull();
    },
    300_000,
  );
});

describe("the tests", () => {
  let results: readonly FileResult[];
  beforeAll(async () => {
    results = await runTests(ROOT, tested);
  }, 300_000);

  it.each(tested)("catch $name, and only that", (variant) => {
    expect(existsSync(join(ROOT, variant.caughtBy.test))).toBe(true);
    expect(notCaught(variant, results)).toBeUndefined();
  });
});
