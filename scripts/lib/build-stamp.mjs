// Tells whether `dist` is what the sources build, so that the many commands that build first cost nothing the second time.
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./entries.mjs";
import { cacheFolder } from "./projects.mjs";

const INPUTS = [
  "packages/*/src/**/*",
  "packages/*/package.json",
  "package.json",
  "package-lock.json",
  "tsconfig*.json",
  "scripts/build.mjs",
  "scripts/lib/{build-stamp,entries,man-page,third-party}.mjs",
];
// Changed by hand, or by a build that was killed, `dist` has another hash.
const OUTPUTS = ["packages/*/dist/**/*"];

const STAMP = () => join(cacheFolder("build"), "stamp.json");

function hashOf(patterns) {
  const hash = createHash("sha256");
  const files = globSync(patterns, { cwd: ROOT, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const path of files) hash.update(path).update("\0").update(readFileSync(path));
  return hash.digest("hex");
}

const stampOf = (variant) =>
  JSON.stringify({ variant, inputs: hashOf(INPUTS), outputs: hashOf(OUTPUTS) });

/** Whether the last build of this variant was of these sources, and `dist` is still its result. */
export function isBuilt(variant) {
  return existsSync(STAMP()) && readFileSync(STAMP(), "utf8") === stampOf(variant);
}

/** Notes that `dist` is the result of this variant. */
export function noteBuilt(variant) {
  writeFileSync(STAMP(), stampOf(variant));
}
