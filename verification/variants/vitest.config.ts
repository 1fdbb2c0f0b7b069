import { writeFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import type { Reporter } from "vitest/node";
import type { BundleResult } from "./tested.js";

// Runs the bundles of test files in the folder HOLDFAST_KNOWN_BAD, each with one variant's defect, or with the
// original code. Writes the results to the file HOLDFAST_KNOWN_BAD_REPORT.
const { HOLDFAST_KNOWN_BAD: folder = "", HOLDFAST_KNOWN_BAD_REPORT: report = "" } = process.env;

const reporter: Reporter = {
  onTestRunEnd(modules) {
    const results = modules.map((module): BundleResult => {
      const errors = module.errors().map(({ message }) => message);
      const tests = [...module.children.allTests()].map((test) => ({
        title: test.name,
        state: test.result().state,
      }));
      return { bundle: module.moduleId, errors, tests };
    });
    writeFileSync(report, JSON.stringify(results));
  },
};

export default defineConfig({
  root: folder,
  test: {
    reporters: [reporter],
    include: ["**/*.test.mjs"],
    // The bundles are below node_modules.
    exclude: [],
    server: { deps: { inline: [/\/holdfast\/variants\//] } },
    maxWorkers: "100%",
    testTimeout: 10_000,
    hookTimeout: 60_000,
  },
});
