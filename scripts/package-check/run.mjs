// Checks the package before publishing: node scripts/package-check/run.mjs, which builds first. Publishes nothing. With
// --write it records the names of the packed files.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  attempt,
  cacheFolder,
  finish,
  MANIFEST,
  outputOf,
  pack,
  ROOT,
  run,
} from "../lib/projects.mjs";
import { built } from "../lib/ready.mjs";
import { toolCommand } from "../lib/tools.mjs";
import { checkInstaller, INSTALLERS } from "./installers.mjs";
import { checkReproducible } from "./reproducible.mjs";

await built();

// Two thirds are source maps with sources; a much larger package would contain another package's code, or data.
const MOST_BYTES = 4_000_000;
// A file costs a user more than its bytes do: every install unpacks the file, every scanner opens the file.
// 60, and what two features added: the page of `holdfast serve`, and the thread with the chunks that it shares.
const MOST_FILES = 76;
// The names of all packed files: a new one is a decision, and shows in the diff of a change.
const LIST = join(import.meta.dirname, "packed-files.txt");

// publint packs the package, which would build once more.
const UNBUILT = { ...process.env, npm_config_ignore_scripts: "true" };

const checker = (name) => toolCommand("scripts/package-check", name);

function promisedFiles() {
  const targets = Object.values(MANIFEST.exports).flatMap((target) =>
    typeof target === "string" ? [target] : Object.values(target),
  );
  const documents = MANIFEST.files.filter((file) => file !== "dist");
  return [...targets, ...Object.values(MANIFEST.bin), ...documents].map((path) =>
    path.replace(/^\.\//, ""),
  );
}

function checkContent() {
  const [{ files, unpackedSize }] = JSON.parse(
    outputOf("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: ROOT }),
  );
  const packed = files.map(({ path }) => path);
  const missing = promisedFiles().filter((path) => !packed.includes(path));
  if (missing.length > 0) throw new Error(`not packed: ${missing.join(", ")}`);
  checkList(packed);
  if (packed.length > MOST_FILES)
    throw new Error(`${packed.length} files, more than ${MOST_FILES}`);
  if (unpackedSize > MOST_BYTES) throw new Error(`${unpackedSize} bytes, more than ${MOST_BYTES}`);
  console.log(`${packed.length} files, ${unpackedSize} bytes unpacked`);
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
  const found = names.filter((name) => name in MANIFEST.scripts);
  if (found.length > 0) throw new Error(`package.json has ${found.join(", ")}`);
}

function checkCommand() {
  for (const path of Object.values(MANIFEST.bin)) {
    const file = join(ROOT, path);
    if (!existsSync(file)) throw new Error(`${path} is not there`);
    if (!readFileSync(file, "utf8").startsWith("#!/usr/bin/env node\n")) {
      throw new Error(`${path} does not begin with #!/usr/bin/env node`);
    }
  }
}

// attw reports a missing file only as a note in its table and by its exit status. CommonJS gets the ES modules,
// which every supported Node can `require`: see docs/adr/0020-the-package.md.
function checkTypes() {
  const { status, stdout } = spawnSync(
    checker("attw"),
    // A file that a worker thread runs: it exports nothing.
    [tarball, "--ignore-rules", "cjs-resolves-to-esm", "--exclude-entrypoints", "thread.js"],
    {
      encoding: "utf8",
    },
  );
  if (status !== 0) throw new Error(`are the types wrong?\n${stdout}`);
}

const tarball = pack(cacheFolder("pack"));
const installs = [];
for (const installer of INSTALLERS) {
  const title = `${installer.name}: install, run and compile`;
  installs.push(await attempt(title, () => checkInstaller(installer, tarball)));
}
finish([
  ...installs,
  await attempt("content of the package", checkContent),
  await attempt("no install script", checkInstallScripts),
  await attempt("a second build gives the same tarball", () =>
    console.log(`sha256 ${checkReproducible(tarball)}`),
  ),
  await attempt("the command begins as one", checkCommand),
  await attempt("publint", () =>
    run(checker("publint"), ["--strict"], { cwd: ROOT, env: UNBUILT }),
  ),
  await attempt("attw", checkTypes),
]);
