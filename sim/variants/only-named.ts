import { beforeEach } from "vitest";

// Of a file's tests only those run whose title is named: on code with an error in it any other may run for
// ever, and a pattern of Vitest's own would hold for the files of all variants alike.
const named = new RegExp(process.env["HOLDFAST_NAMED"] ?? "");

beforeEach(({ task, skip }) => {
  if (!named.test(task.name)) skip();
});
