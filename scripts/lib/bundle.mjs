// Bundles programs in TypeScript, so that Node.js runs them without another tool.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { build } from "esbuild";
import { FOR_NODE } from "./for-node.mjs";
import { cacheFolder, ROOT } from "./projects.mjs";

/**
 * Bundles a program of the repository, given by its path there. Returns the path of the bundle, by default in the
 * cache. `options` go to esbuild.
 */
export async function bundled(entry, { outfile = inCache(entry), ...options } = {}) {
  await build({
    ...FOR_NODE,
    entryPoints: [join(ROOT, entry)],
    outfile,
    ...options,
  });
  return outfile;
}

const inCache = (entry) => join(cacheFolder("bundles"), `${entry.replaceAll("/", "-")}.mjs`);

/** Bundles a program, and runs it with the arguments of this process. Its exit status becomes that of this process. */
export async function runBundled(entry) {
  const args = [await bundled(entry), ...process.argv.slice(2)];
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: "inherit" });
  process.exitCode = status ?? 1;
}
