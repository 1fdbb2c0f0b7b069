// Bundles the simulation: types are left out once, not at every start of every worker.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Makes the bundle. Returns its path. */
export async function bundleSimulation() {
  const folder = `${root}/node_modules/.cache/holdfast`;
  const outfile = `${folder}/sim.mjs`;
  mkdirSync(folder, { recursive: true });
  await build({
    entryPoints: [`${root}/verification/sim/main.ts`],
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    logLevel: "warning",
    outfile,
  });
  return outfile;
}
