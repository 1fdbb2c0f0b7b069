// Runs the tests of test/interop, which need the built package and the built drivers: npm run interop. `--full`
// contends for ten times the grants; other arguments are vitest's.
import { run } from "./lib/projects.mjs";

const asked = process.argv.slice(2);
const args = asked.filter((arg) => arg !== "--full");
const env = { ...process.env, INTEROP_FULL: asked.includes("--full") ? "1" : "" };
try {
  run("npx", ["vitest", "run", "--config", "test/interop/vitest.config.ts", ...args], { env });
} catch {
  process.exitCode = 1;
}
