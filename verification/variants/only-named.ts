import { beforeEach } from "vitest";

/** The titles to run, as a pattern which the bundler inserts. */
declare const HOLDFAST_NAMED: string;

const named = new RegExp(HOLDFAST_NAMED);
let hasFailed = false;

// Only the named tests of a file run, up to the first that fails: with the variant's defect, further tests may be endless,
// and Vitest's own pattern would apply to the files of all variants.
beforeEach(({ task, skip, onTestFailed }) => {
  if (hasFailed || !named.test(task.name)) skip();
  onTestFailed(() => {
    hasFailed = true;
  });
});
