// Writes what a measuring command found. A file of the repository changes only where the command got `--write`.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Whether git would commit the file; false for one that it ignores, and outside of a repository. */
function isCommitted(path) {
  const { status } = spawnSync("git", ["check-ignore", "--quiet", path], { cwd: dirname(path) });
  return status === 1;
}

/** Writes a file. Throws if it is one of the repository's and the command was not asked to write. */
export function writeFigures(path, text, isAsked = process.argv.includes("--write")) {
  if (!isAsked && isCommitted(path)) {
    throw new Error(`${path} belongs to the repository: it is written with --write alone.`);
  }
  writeFileSync(path, text);
}
