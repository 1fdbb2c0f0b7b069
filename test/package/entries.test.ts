import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { ROOT } from "../house/source.js";

const run = promisify(execFile);
const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly exports: Readonly<Record<string, unknown>>;
};
// The others are files: package.json, and what a worker thread runs.
const entries = Object.entries(exports)
  .filter(([, target]) => typeof target === "object")
  .map(([path]) => path.replace(/^\./, "holdfast"));

// Chunks that import each other can fail for one first import, and work for all others.
it.concurrent.each(entries)("imports %s in a process without any other import", async (entry) => {
  const script = `console.log(Object.keys(await import("${entry}")).length > 0)`;
  const { stdout } = await run(
    process.execPath,
    ["--input-type=module", "--disable-warning=ExperimentalWarning", "--eval", script],
    { cwd: ROOT },
  );
  expect(stdout).toBe("true\n");
});
