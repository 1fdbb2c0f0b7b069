// Servers and the large tools of one suite or one long command have a package.json of their own beside it. The command
// installs them when it first needs them. All other development tools come with `npm ci`.
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { ROOT } from "./entries.mjs";
import { outputOf } from "./processes.mjs";

/** The lock file that an installation was made from. A killed installation leaves no such file. */
const MARK = ".installed-from";

const digestOf = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");

function isInstalled(folder) {
  const mark = join(folder, "node_modules", MARK);
  const lock = join(folder, "package-lock.json");
  return existsSync(mark) && readFileSync(mark, "utf8") === digestOf(lock);
}

/**
 * Installs the dependencies of a folder of the checkout, such as `bench/peers`, unless they are there. Returns the
 * folder's path. Two processes may install the same folder at once: each installs aside, and the first to finish wins.
 */
export function installTools(name) {
  const folder = join(ROOT, name);
  if (isInstalled(folder)) return folder;
  console.error(`Installing the development tools of ${relative(ROOT, folder)} …`);
  mkdirSync(join(ROOT, ".tmp"), { recursive: true });
  const aside = mkdtempSync(join(ROOT, ".tmp", "tools-"));
  try {
    for (const file of ["package.json", "package-lock.json"]) {
      cpSync(join(folder, file), join(aside, file));
    }
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
    outputOf("npm", ["ci", ...flags], { cwd: aside });
    const made = join(aside, "node_modules");
    writeFileSync(join(made, MARK), digestOf(join(folder, "package-lock.json")));
    replace(made, folder);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  return folder;
}

function replace(made, folder) {
  const target = join(folder, "node_modules");
  if (!isInstalled(folder)) rmSync(target, { recursive: true, force: true });
  try {
    renameSync(made, target);
  } catch (error) {
    if (!isInstalled(folder)) throw error;
  }
}

/** The path of a tool's command: of the checkout, or, if `folder` is given, installed by `installTools(folder)`. */
export function toolCommand(command, folder) {
  const root = folder === undefined ? ROOT : installTools(folder);
  return join(root, "node_modules", ".bin", command);
}
