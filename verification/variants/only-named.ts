import { beforeEach } from "vitest";

/** The titles that run, as a pattern: put in by the bundler. */
declare const HOLDFAST_NAMED: string;

// Of a file's tests only those run whose title is named: on code with an error in it any other may run for
// ever, and a pattern of Vitest's own would hold for the files of all variants alike.
const named = new RegExp(HOLDFAST_NAMED);

beforeEach(({ task, skip }) => {
  if (!named.test(task.name)) skip();
});
