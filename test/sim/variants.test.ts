import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { VARIANTS } from "../../verification/variants/all.js";
import { filesOf, patched } from "../../verification/variants/patch.js";
import { Recorded } from "../../verification/variants/recorded.js";
import { huntFor } from "../../verification/variants/run.js";
import { RULES } from "../../verification/variants/tables.js";
import { changedFiles, firstSeedOf, isSimulated } from "../../verification/variants/variant.js";
import { ROOT } from "../house/source.js";

const simulated = VARIANTS.filter(isSimulated);
const catching = new Recorded<number>(ROOT, "catching.json").read();

describe("the known-bad variants", () => {
  it("have unique names, and cover every rule", () => {
    expect(VARIANTS.length).toBeGreaterThanOrEqual(30);
    expect(new Set(VARIANTS.map(({ name }) => name)).size).toBe(VARIANTS.length);
    const broken = new Set(VARIANTS.flatMap(({ rules }) => rules));
    expect(RULES.filter((rule) => !broken.has(rule))).toEqual([]);
  });

  it.each(VARIANTS)("$name changes the code, in one place each time", (variant) => {
    const changed = changedFiles(ROOT, variant);
    expect(changed.size).toBeGreaterThan(0);
    for (const [file, text] of changed) {
      expect(text).not.toBe(readFileSync(join(ROOT, file), "utf8"));
    }
  });

  it("replace only text that occurs exactly once", () => {
    expect(() => patched("bcd", "a", "", "x")).toThrow("occurs 0 times");
    expect(() => patched("abca", "a", "", "x")).toThrow("occurs 2 times");
    expect(() => patched("abc", "// a comment alone", "", "x")).toThrow("occurs");
    expect(patched("f(a, b); // f(a, b)", "f(a,\n  b)", "g()", "x")).toBe("g(); // f(a, b)");
  });

  it("name a symbol that src exports", () => {
    const exports = new Map([["changedFiles", ["src/a.ts", "src/b.ts"]]]);
    expect(filesOf(exports, { changedFiles })).toEqual(["src/a.ts", "src/b.ts"]);
    expect(() => filesOf(exports, { patched })).toThrow('No source exports "patched"');
  });
});

// A short form of `node scripts/sim-variants.mjs`: one range of seeds, which begins with the seed that caught the variant
// last. A fresh seed without a violation would prove nothing.
describe("the simulation", () => {
  it.concurrent.each(simulated)(
    "catches $name",
    async (variant) => {
      const [found] = await huntFor(ROOT, variant, [catching[variant.name] ?? firstSeedOf(1)]);
      expect(found?.seeds, `besides: ${JSON.stringify(found?.besides)}`).not.toBeNull();
    },
    300_000,
  );
});
