import { expect, it } from "vitest";
import { sourcePaths, textOf } from "./source.js";

/**
 * The output escapes control characters, and reports a failed write; the host writes to the streams; the diagnosis of an
 * engine writes items.
 */
const OUTPUT = /^packages\/cli\/src\/(?:output\/output|host|engine\/[\w-]+)\.ts$/;

// A call without arguments writes nothing: `write()` of a read-write lock.
it("no command writes past the output", () => {
  const past = sourcePaths()
    .filter((path) => path.startsWith("packages/cli/src/") && !OUTPUT.test(path))
    .filter((path) =>
      /\bwrite(?:v?Sync)?\((?!\))|process\.std(?:out|err)|\bconsole\./.test(textOf(path)),
    );
  expect(past).toEqual([]);
});
