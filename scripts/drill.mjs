// Bundles and runs the outage drill: npm run drill -- --help.
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = `${root}/node_modules/.cache/holdfast`;
const outfile = `${folder}/drill.mjs`;
mkdirSync(folder, { recursive: true });
await build({
  entryPoints: [`${root}/verification/sim/outage/main.ts`],
  bundle: true,
  platform: "node",
  format: "esm",
  packages: "external",
  logLevel: "warning",
  outfile,
});
const { status } = spawnSync(process.execPath, [outfile, ...process.argv.slice(2)], {
  stdio: "inherit",
});
process.exitCode = status ?? 1;
