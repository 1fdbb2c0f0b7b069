// Checks the packages before publishing: node scripts/package-check/run.mjs, which builds first. Publishes nothing. With
// --write it records the names of the packed files.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  attempt,
  cacheFolder,
  finish,
  outputOf,
  packAll,
  packages,
  ROOT,
  run,
} from "../lib/projects.mjs";
import { built } from "../lib/ready.mjs";
import { toolCommand } from "../lib/tools.mjs";
import { checkCommandAlone, checkInstaller, INSTALLERS } from "./installers.mjs";
import { checkReproducible } from "./reproducible.mjs";
import { checkStart } from "./start.mjs";

await built();

// Two thirds are source maps with sources; a much larger package would contain another package's code, or data.
const MOST_BYTES = 3_600_000;
// A file costs a user more than its bytes do: every install unpacks the file, every scanner opens the file. A third of them
// are the documents of `holdfast`.
const MOST_FILES = 114;
// The names of all packed files: a new one is a decision, and shows in the diff of a change.
const LIST = join(import.meta.dirname, "packed-files.txt");

// publint packs the package, which would build once more.
const UNBUILT = { ...process.env, npm_config_ignore_scripts: "true" };

function promisedFiles({ exports, bin = {}, man, files }) {
  const targets = Object.values(exports).flatMap((target) =>
    typeof target === "string" ? [target] : Object.values(target),
  );
  const documents = files.filter((file) => file.includes("."));
  const manual = man === undefined ? [] : [man];
  return [...targets, ...Object.values(bin), ...manual, ...documents].map((path) =>
    path.replace(/^\.\//, ""),
  );
}

function checkContent() {
  const all = JSON.parse(
    outputOf("npm", ["pack", "--workspaces", "--dry-run", "--json", "--ignore-scripts"], {
      cwd: ROOT,
    }),
  );
  for (const { manifest } of packages) {
    const { files, unpackedSize } = all.find(({ name }) => name === manifest.name);
    const packed = files.map(({ path }) => path);
    const missing = promisedFiles(manifest).filter((path) => !packed.includes(path));
    const said = `${manifest.name}: ${packed.length} files, ${unpackedSize} bytes unpacked`;
    if (missing.length > 0) throw new Error(`${said}; not packed: ${missing.join(", ")}`);
    if (packed.length > MOST_FILES) throw new Error(`${said}: more than ${MOST_FILES} files`);
    if (unpackedSize > MOST_BYTES) throw new Error(`${said}: more than ${MOST_BYTES} bytes`);
    console.log(said);
  }
  checkList(all.flatMap(({ name, files }) => files.map(({ path }) => `${name} ${path}`)));
}

function checkList(packed) {
  const names = `${packed.toSorted().join("\n")}\n`;
  if (process.argv.includes("--write")) writeFileSync(LIST, names);
  const listed = readFileSync(LIST, "utf8").trim().split("\n");
  const added = packed.filter((path) => !listed.includes(path));
  const gone = listed.filter((path) => !packed.includes(path));
  if (added.length + gone.length === 0) return;
  throw new Error(
    `packed, but not in packed-files.txt: ${added.join(", ") || "none"}; listed, but not packed: ` +
      `${gone.join(", ") || "none"}. If this is meant: node scripts/package-check/run.mjs --write`,
  );
}

/** npm runs these scripts of a package on the user's machine, where they could do anything. */
function checkInstallScripts() {
  const names = ["preinstall", "install", "postinstall", "prepare"];
  for (const { folder, manifest } of packages) {
    const found = names.filter((name) => name in manifest.scripts);
    if (found.length > 0) throw new Error(`${folder}/package.json has ${found.join(", ")}`);
  }
}

function checkCommand() {
  const commands = packages.flatMap(({ folder, manifest }) =>
    Object.values(manifest.bin ?? {}).map((path) => join(folder, path)),
  );
  if (commands.length === 0) throw new Error("no package has a command");
  for (const path of commands) {
    const file = join(ROOT, path);
    if (!existsSync(file)) throw new Error(`${path} is not there`);
    if (!readFileSync(file, "utf8").startsWith("#!/usr/bin/env node\n")) {
      throw new Error(`${path} does not begin with #!/usr/bin/env node`);
    }
  }
}

// attw reports a missing file only as a note in its table and by its exit status. CommonJS gets the ES modules,
// which every supported Node can `require`: see docs/adr/0020-the-package.md.
function checkTypes(tarball) {
  const { status, stdout } = spawnSync(
    toolCommand("attw"),
    // A file that a worker thread runs: it exports nothing.
    [tarball, "--ignore-rules", "cjs-resolves-to-esm", "--exclude-entrypoints", "thread.js"],
    {
      encoding: "utf8",
    },
  );
  if (status !== 0) throw new Error(`are the types wrong?\n${stdout}`);
}

const tarballs = packAll(cacheFolder("pack"));
const isLibrary = ({ manifest }) => manifest.main !== undefined;
const installs = [];
for (const installer of INSTALLERS) {
  const title = `${installer.name}: install, run and compile`;
  installs.push(await attempt(title, () => checkInstaller(installer, tarballs)));
}
const types = [];
for (const [index, one] of packages.entries()) {
  const { folder, manifest } = one;
  types.push(
    await attempt(`publint: ${manifest.name}`, () =>
      run(toolCommand("publint"), ["--strict"], { cwd: join(ROOT, folder), env: UNBUILT }),
    ),
  );
  if (!isLibrary(one)) continue;
  types.push(await attempt(`attw: ${manifest.name}`, () => checkTypes(tarballs[index])));
}
finish([
  ...installs,
  await attempt("npm: install @holdfast/cli alone, and run every command", () =>
    checkCommandAlone(tarballs),
  ),
  await attempt("docs/start.md, from the installation to the takeover in two minutes", () =>
    checkStart(tarballs),
  ),
  await attempt("content of the packages", checkContent),
  await attempt("no install script", checkInstallScripts),
  await attempt("a second build gives the same tarballs", () => checkReproducible(tarballs)),
  await attempt("the command begins as one", checkCommand),
  ...types,
]);
