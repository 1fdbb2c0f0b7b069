// The parts of the package: one table for the build, the checks and the tests, read from package.json.
// `dist/x.js` is built from `src/x.ts`.
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/[\\/]$/, "");

/** package.json of the checkout. */
export const MANIFEST = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

const sourceOf = (built) => built.replace(/^\.\/dist\/(.*)\.js$/, "src/$1.ts");

/** The subpaths for users: sources, built files, declarations and API reports. */
export const subpaths = Object.entries(MANIFEST.exports)
  .filter(([, target]) => typeof target === "object")
  .map(([subpath, target]) => ({
    subpath,
    source: sourceOf(target.default),
    built: target.default,
    declarations: target.types,
    report: subpath === "." ? "holdfast.api.md" : `holdfast-${basename(subpath)}.api.md`,
  }));

/** The way in which the source names a file that it starts as a process. */
export const STARTED_FILE = /new URL\("(\.{1,2}\/[\w./-]+)\.js", import\.meta\.url\)/g;

/** The programs: sources of the commands in `bin`, and of the files that the commands start as processes. */
export const programs = [...Object.values(MANIFEST.bin).map(sourceOf), ...startedFiles()];

function startedFiles() {
  return readdirSync(join(ROOT, "src"), { recursive: true })
    .filter((path) => path.endsWith(".ts"))
    .flatMap((path) => {
      const text = readFileSync(join(ROOT, "src", path), "utf8");
      return [...text.matchAll(STARTED_FILE)].map(([, file]) =>
        join("src", dirname(path), `${file}.ts`).replaceAll("\\", "/"),
      );
    });
}
