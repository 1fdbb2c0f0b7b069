import { beforeEach } from "vitest";

/** The titles to run, as a pattern which the bundler inserts. */
declare const HOLDFAST_NAMED: string;

// Only the named tests of a file run: with the variant's defect, further tests may be endless, and Vitest's own
// pattern would apply to the files of all variants.
const named = new RegExp(HOLDFAST_NAMED);

beforeEach(({ task, skip }) => {
  if (!named.test(task.name)) skip();
});
