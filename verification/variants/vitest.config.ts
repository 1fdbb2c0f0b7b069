import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type Reporter, type TestSpecification } from "vitest/node";
import { AS_IT_IS, type BundleResult } from "./tested.js";

// Runs the test files in the folder HOLDFAST_KNOWN_BAD, each with one variant's defect, or with the
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
      return { path: module.moduleId, errors, tests };
    });
    writeFileSync(report, JSON.stringify(results));
  },
};

/**
 * The runs share their processes, which saves two thirds of the processor time. The original code runs last: what a defect
 * leaves behind in a process fails its tests there.
 */
class OriginalLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isOriginal = ({ moduleId }: TestSpecification): number =>
      Number(moduleId.includes(`/${AS_IT_IS}/`));
    return [...files].sort((one, other) => isOriginal(one) - isOriginal(other));
  }
}

export default defineConfig({
  root: folder,
  test: {
    reporters: [reporter],
    include: ["**/*.test.mjs"],
    // The bundles are below node_modules.
    exclude: [],
    server: { deps: { external: [/\.code\.mjs$/], inline: [/\.test\.mjs$/] } },
    // One more than there are processors: some defects let their test wait for its timeout.
    maxWorkers: availableParallelism() + 1,
    isolate: false,
    sequence: { sequencer: OriginalLast },
    testTimeout: 10_000,
    hookTimeout: 60_000,
  },
});
