// Builds and packs the packages a second time, in another folder, and compares the tarballs byte by byte. Anybody can
// then build the tag of a release, and compare the result with what npm serves.
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { outputOf, packAll, ROOT } from "../lib/projects.mjs";

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

/** Fails if a second build gives another tarball. Prints the hashes. */
export function checkReproducible(tarballs) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-again-"));
  try {
    copyCheckout(folder);
    outputOf(process.execPath, ["scripts/build.mjs"], { cwd: folder });
    for (const [index, again] of packAll(folder, folder).entries()) {
      const [first, second] = [hashOf(tarballs[index]), hashOf(again)];
      if (first !== second) throw new Error(`another tarball: ${basename(again)}`);
      console.log(`sha256 ${first} ${basename(again)}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
