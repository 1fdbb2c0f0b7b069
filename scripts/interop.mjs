// Runs the tests of test/interop, which need the built package and the built drivers, and prints the results:
// npm run interop. `--full` plays every scene beside every client, with ten times the grants; `--write` writes
// the table into test/interop/results.md; other arguments go to vitest.
import { fileURLToPath } from "node:url";
import { run } from "./lib/projects.mjs";

const asked = process.argv.slice(2);
const isOurs = (arg) => ["--full", "--write"].includes(arg);
const flag = (name) => (asked.includes(name) ? "1" : "");
const table = fileURLToPath(new URL("../test/interop/reporter.ts", import.meta.url));
const reporters = asked.some((arg) => arg.startsWith("--reporter")) ? [] : ["--reporter=default"];
const args = [...reporters, `--reporter=${table}`, ...asked.filter((arg) => !isOurs(arg))];
const env = { ...process.env, INTEROP_FULL: flag("--full"), INTEROP_WRITE: flag("--write") };
try {
  run("npx", ["vitest", "run", "--config", "test/interop/vitest.config.ts", ...args], { env });
} catch {
  process.exitCode = 1;
}
