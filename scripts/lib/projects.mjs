// Small projects outside the checkout, to test the package as users install it.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MANIFEST, packages, ROOT, TOOLS, WORKSPACE } from "./entries.mjs";
import { outputOf, run } from "./processes.mjs";

export { MANIFEST, outputOf, packages, ROOT, run, TOOLS, WORKSPACE };

// `npm ci` clears this folder, git ignores the folder, and other users cannot write to it, unlike a shared
// /tmp.
const CACHE = join(ROOT, "node_modules", ".cache", "holdfast");

/** A folder in the cache, which lasts until the next `npm ci`. */
export function cacheFolder(name) {
  const folder = join(CACHE, name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Packs all packages as for publishing. Returns the paths of the tarballs, in their order. Needs a build. */
export function packAll(folder, root = ROOT) {
  for (const old of readdirSync(folder)) if (old.endsWith(".tgz")) rmSync(join(folder, old));
  const flags = ["--workspaces", "--json", "--ignore-scripts", "--pack-destination", folder];
  const packed = JSON.parse(outputOf("npm", ["pack", ...flags], { cwd: root }));
  return packages.map(({ manifest }) => {
    const found = packed.find(({ name }) => name === manifest.name);
    if (found === undefined) throw new Error(`npm pack made no tarball of ${manifest.name}.`);
    return join(folder, found.filename);
  });
}

/** Installs these packages in the folder, as a separate project, without running their scripts. */
export function install(folder, packages) {
  if (!existsSync(join(folder, "package.json"))) {
    writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  }
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"];
  outputOf("npm", ["install", ...flags, "--prefer-offline", ...packages], { cwd: folder });
}

/** Installs one package in the folder, if it has this hash, without running its scripts. */
export function installExactly(folder, { name, version, integrity }) {
  const dependencies = { [name]: version };
  const packages = { "": { dependencies }, [`node_modules/${name}`]: { version, integrity } };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  const lock = JSON.stringify({ lockfileVersion: 3, requires: true, packages });
  writeFileSync(join(folder, "package-lock.json"), lock);
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
  outputOf("npm", ["ci", ...flags], { cwd: folder });
}

/** Prints the number of attempts, and exits with a failure if an attempt failed. */
export function finish(results) {
  for (const { title, error } of results) {
    console.log(error === undefined ? `ok      ${title}` : `FAILED  ${title}: ${error.message}`);
  }
  const failed = results.filter(({ error }) => error !== undefined).length;
  if (failed > 0 || results.length === 0) process.exitCode = 1;
}

/** Runs one attempt and records the result; a failure does not stop the script. */
export async function attempt(title, work) {
  try {
    await work();
    return { title, error: undefined };
  } catch (error) {
    return { title, error: error instanceof Error ? error : new Error(String(error)) };
  }
}
