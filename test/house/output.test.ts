import { expect, it } from "vitest";
import { sourcePaths, textOf } from "./source.js";

/** The one class that writes to the terminal: it escapes control characters, and reports a failed write. */
const OUTPUT = "src/cli/output/output.ts";

// A call without arguments writes nothing: `write()` of a read-write lock.
it("no command writes past the output", () => {
  const past = sourcePaths()
    .filter((path) => path.startsWith("src/cli/") && path !== OUTPUT)
    .filter((path) =>
      /\bwrite(?:v?Sync)?\((?!\))|process\.std(?:out|err)|\bconsole\./.test(textOf(path)),
    );
  expect(past).toEqual([]);
});
