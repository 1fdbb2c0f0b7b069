// Bundles the simulation and runs it: types are left out once, not at every start of every worker.
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const outfile = `${root}/node_modules/.cache/holdfast/sim.mjs`;
mkdirSync(`${root}/node_modules/.cache/holdfast`, { recursive: true });
await build({
  entryPoints: [`${root}/sim/main.ts`],
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
