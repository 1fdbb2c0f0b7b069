import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { entries } from "../../scripts/lib/entries.mjs";
import { ROOT } from "../house/source.js";

const run = promisify(execFile);
const names = entries.map(({ name }) => name);

// Chunks that import each other can fail for one first import, and work for all others.
it.concurrent.each(names)("imports %s in a process without any other import", async (entry) => {
  const script = `console.log(Object.keys(await import("${entry}")).length > 0)`;
  const { stdout } = await run(
    process.execPath,
    ["--input-type=module", "--disable-warning=ExperimentalWarning", "--eval", script],
    { cwd: ROOT },
  );
  expect(stdout).toBe("true\n");
});
