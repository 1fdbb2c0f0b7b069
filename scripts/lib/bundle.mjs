// Bundles programs in TypeScript, so that Node.js runs them without another tool. Packages are not bundled: the bundle
// lies below node_modules, where Node.js finds them.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { build } from "esbuild";
import { cacheFolder, ROOT } from "./projects.mjs";

/**
 * Bundles a program of the repository, given by its path there. Returns the path of the bundle, by default in the
 * cache. `options` go to esbuild.
 */
export async function bundled(entry, { outfile = inCache(entry), ...options } = {}) {
  await build({
    entryPoints: [join(ROOT, entry)],
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    logLevel: "warning",
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
