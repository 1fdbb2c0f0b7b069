import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vitest/config";
import type { Reporter } from "vitest/node";
import { VARIANTS } from "./all.js";
import { AS_IT_IS, type FileResult, patternOf, type Tested } from "./tested.js";
import { changedText, filesOf, isSimulated, type Variant } from "./variant.js";

// Runs, for each variant that a test must catch, that test on the code with the variant's error in it, and
// on the code as it is. Which variants is in HOLDFAST_KNOWN_BAD, joined by commas; what came of it goes to
// the file HOLDFAST_KNOWN_BAD_REPORT.
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const { HOLDFAST_KNOWN_BAD: asked = "", HOLDFAST_KNOWN_BAD_REPORT: report = "" } = process.env;

const isAsked = (variant: Variant): variant is Tested =>
  !isSimulated(variant) && asked.split(",").includes(variant.name);
const variants = VARIANTS.filter(isAsked);

function withError(variant: Variant): Plugin {
  const files = new Set(filesOf(variant));
  return {
    name: "holdfast-known-bad",
    enforce: "pre",
    transform(text, path) {
      const file = path.startsWith(ROOT) ? path.slice(ROOT.length) : path;
      return files.has(file) ? changedText(variant, file, text) : undefined;
    },
  };
}

const reporter: Reporter = {
  onTestRunEnd(modules) {
    const results = modules.map((module): FileResult => {
      const errors = module.errors().map(({ message }) => message);
      const tests = [...module.children.allTests()].map((test) => ({
        title: test.name,
        state: test.result().state,
      }));
      return { project: module.project.name, file: module.relativeModuleId, errors, tests };
    });
    writeFileSync(report, JSON.stringify(results));
  },
};

/** One test file with one error in the code; of its tests, those whose title is named. */
const project = (name: string, include: readonly string[], named: string, plugins: Plugin[]) => ({
  root: ROOT,
  plugins,
  test: {
    name,
    include: [...include],
    setupFiles: ["sim/variants/only-named.ts"],
    env: { HOLDFAST_NAMED: named },
    testTimeout: 10_000,
    hookTimeout: 60_000,
  },
});

const patterns = variants.map(({ caughtBy }) => `^${patternOf(caughtBy.title)}$`);

export default defineConfig({
  root: ROOT,
  test: {
    reporters: [reporter],
    projects: [
      project(
        AS_IT_IS,
        [...new Set(variants.map(({ caughtBy }) => caughtBy.test))],
        patterns.join("|"),
        [],
      ),
      ...variants.map((variant, index) =>
        project(variant.name, [variant.caughtBy.test], patterns[index] ?? "", [withError(variant)]),
      ),
    ],
  },
});
