// The packages and their parts: one table for the build, the checks and the tests, read from each package.json.
// `dist/x.js` is built from `src/x.ts`.
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/[\\/]$/, "");

const read = (path) => JSON.parse(readFileSync(join(ROOT, path), "utf8"));

/** package.json of the checkout, which has the commands and the tools that several packages use. */
export const WORKSPACE = read("package.json");

/** The packages, each after those that it uses: folder in the checkout, and package.json. */
export const packages = WORKSPACE.workspaces.map((folder) => ({
  folder,
  manifest: read(join(folder, "package.json")),
}));

/** package.json of `holdfast`. All packages have its version. */
export const MANIFEST = packages[0].manifest;

/** The version of each development package, of the checkout and of all packages. */
export const TOOLS = Object.assign(
  {},
  ...[WORKSPACE, ...packages.map(({ manifest }) => manifest)].map((one) => one.devDependencies),
);

/** The subpath for the packages of Holdfast alone, which promises nothing to users. */
const INTERNAL = "./internal";

function entriesOf({ folder, manifest }) {
  const short = basename(folder);
  const place = (path) => join(folder, path).replaceAll("\\", "/");
  return Object.entries(manifest.exports)
    .filter(([, target]) => typeof target === "object")
    .map(([subpath, target]) => ({
      folder,
      subpath,
      name: join(manifest.name, subpath).replaceAll("\\", "/"),
      source: place(target.default).replace(/\/dist\/(.*)\.js$/, "/src/$1.ts"),
      built: place(target.default),
      declarations: place(target.types),
      report: `${folder}/api/${subpath === "." ? short : `${short}-${basename(subpath)}`}.api.md`,
    }));
}

/** All entries of all packages: sources, built files, declarations and API reports, relative to the checkout. */
export const entries = packages.flatMap(entriesOf);

/** The entries for users. */
export const subpaths = entries.filter(({ subpath }) => subpath !== INTERNAL);

/** The way in which the source names a file that it starts as a process. */
export const STARTED_FILE = /new URL\("(\.{1,2}\/[\w./-]+)\.js", import\.meta\.url\)/g;

const withBin = packages.filter(({ manifest }) => manifest.bin !== undefined);

/** The programs: sources of the commands in `bin`, and of the files that the commands start as processes. */
export const programs = withBin.flatMap(({ folder, manifest }) => [
  ...Object.values(manifest.bin).map((path) => `${folder}/src/${basename(path, ".js")}.ts`),
  ...startedFiles(folder),
]);

function startedFiles(folder) {
  return readdirSync(join(ROOT, folder, "src"), { recursive: true })
    .filter((path) => path.endsWith(".ts"))
    .flatMap((path) => {
      const file = join(folder, "src", path);
      const text = readFileSync(join(ROOT, file), "utf8");
      return [...text.matchAll(STARTED_FILE)].map(([, started]) =>
        join(dirname(file), `${started}.ts`).replaceAll("\\", "/"),
      );
    });
}
