// Builds and packs the package a second time, in another folder, and compares the two tarballs byte by byte. Anybody can
// then build the tag of a release, and compare the result with what npm serves.
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { outputOf, ROOT } from "../lib/projects.mjs";

const CACHE = join(ROOT, "node_modules", ".cache");

const hashOf = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");

/** Every file of the checkout that git tracks, or would track. */
function sources() {
  const flags = ["--cached", "--others", "--exclude-standard", "-z"];
  return outputOf("git", ["ls-files", ...flags], { cwd: ROOT })
    .split("\0")
    .filter((path) => path !== "");
}

function copyCheckout(folder) {
  for (const path of sources()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(ROOT, path), join(folder, path), { force: true });
  }
  // Copied, because the bundles name the files of their dependencies relative to the checkout.
  cpSync(join(ROOT, "node_modules"), join(folder, "node_modules"), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => path !== CACHE,
  });
}

/** Fails if a second build gives another tarball. Returns the hash that both have. */
export function checkReproducible(tarball) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-again-"));
  try {
    copyCheckout(folder);
    outputOf(process.execPath, ["scripts/build.mjs"], { cwd: folder });
    const [{ filename }] = JSON.parse(
      outputOf("npm", ["pack", "--json", "--ignore-scripts"], { cwd: folder }),
    );
    const [first, second] = [hashOf(tarball), hashOf(join(folder, filename))];
    if (first !== second) throw new Error(`the second build gives another tarball: ${filename}`);
    return first;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
