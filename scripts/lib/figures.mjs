// Writes the results of a measuring command. A file of the repository changes only with `--write`.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Whether git would commit the file; false for an ignored file, and outside of a repository. */
function isCommitted(path) {
  const { status } = spawnSync("git", ["check-ignore", "--quiet", path], { cwd: dirname(path) });
  return status === 1;
}

/** Writes a file. Throws for a file of the repository if the command runs without `--write`. */
export function writeFigures(path, text, isAsked = process.argv.includes("--write")) {
  if (!isAsked && isCommitted(path)) {
    throw new Error(`${path} belongs to the repository: only --write changes it.`);
  }
  writeFileSync(path, text);
}
