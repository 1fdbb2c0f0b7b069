// Tests the page of `holdfast serve` in headless Chromium: node scripts/browser/run.mjs. Prints how long 10,000 locks take to
// appear and to scroll. With `-- --screenshots docs/images` it also takes the pictures of the documents.
import { spawn, spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { ROOT } from "../lib/entries.mjs";
import { built } from "../lib/ready.mjs";

await built("--without-types");

const at = process.argv.indexOf("--screenshots");
const chromium = process.env.CHROMIUM ?? found();
const env = {
  ...process.env,
  CHROMIUM: chromium,
  ...(at < 0 ? {} : { SCREENSHOTS: resolve(process.argv[at + 1] ?? join(ROOT, "docs", "images")) }),
};
const words = ["run", "--config", join(ROOT, "scripts/browser/vitest.config.ts")];
spawn(join(ROOT, "node_modules", ".bin", "vitest"), words, { cwd: ROOT, env, stdio: "inherit" }).on(
  "exit",
  (status) => {
    process.exitCode = status ?? 1;
  },
);

function found() {
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    const { status, stdout } = spawnSync("which", [name], { encoding: "utf8" });
    if (status === 0) return stdout.trim();
  }
  console.error("Chromium is missing: apt-get install chromium, or set CHROMIUM.");
  process.exit(1);
}
