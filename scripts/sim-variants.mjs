// Bundles and runs the hunt for the kernel's known-bad variants: npm run sim:variants.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { build } from "esbuild";
import { cacheFolder, ROOT } from "./lib/projects.mjs";

const outfile = join(cacheFolder("variants"), "main.mjs");
await build({
  entryPoints: [join(ROOT, "verification/variants/main.ts")],
  bundle: true,
  platform: "node",
  format: "esm",
  packages: "external",
  logLevel: "warning",
  outfile,
});
const { status } = spawnSync(process.execPath, [outfile, ...process.argv.slice(2)], {
  cwd: ROOT,
  stdio: "inherit",
});
process.exitCode = status ?? 1;
