// Checks a change before its commit, in less than a minute: npm run check. Checks the types against the sources, without a
// build; Biome's rules in the changed files; and the tests of the folders of the changed files. `npm test` and `npm run
// typecheck` check the rest.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { IN_MEMORY_FOLDERS } from "../vitest.config.ts";
import { ROOT } from "./lib/entries.mjs";
import { outputOf } from "./lib/processes.mjs";
import { toolCommand } from "./lib/tools.mjs";

const lines = (text) => text.split("\n").filter((line) => line !== "");

/** The files that differ from the last commit, and still exist. */
function changedFiles() {
  const git = (...words) => lines(outputOf("git", words, { cwd: ROOT }));
  const all = [
    ...git("diff", "--name-only", "HEAD"),
    ...git("ls-files", "--others", "--exclude-standard"),
  ];
  return [...new Set(all)].filter((path) => existsSync(path));
}

// The ring has sockets of its own, and starts no program.
const ON_SOURCES_ALONE = [...IN_MEMORY_FOLDERS, "packages/holdfast/test/ring"];
const needsNoBuild = (path) => ON_SOURCES_ALONE.some((folder) => path.startsWith(`${folder}/`));

/** The tests for a changed file, as filters of vitest: the file itself, or the nearest folder of its name in `test`. */
function testsOf(path) {
  if (path.endsWith(".test.ts")) return [path];
  if (!/^(?:packages\/[\w-]+\/(?:src|test)|test)\//.test(path)) return [];
  let folder = dirname(path).replace(/^(packages\/[\w-]+)\/src/, "$1/test");
  while (!existsSync(folder)) folder = dirname(folder);
  // The files at the top of holdfast belong to every part: the core and the locks use most of them.
  const TOP = "packages/holdfast/test";
  return folder === TOP ? [`${TOP}/core/`, `${TOP}/locks/`] : [`${folder}/`];
}

/** Runs a program to its end. Resolves with the title if it failed; its output comes in one piece. */
function step(title, program, args) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: ROOT });
    const chunks = [];
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.stderr.on("data", (chunk) => chunks.push(chunk));
    child.on("close", (status) => {
      const isFine = status === 0;
      console.log(`\n=== ${title}: ${isFine ? "ok" : "failed"}`);
      process.stdout.write(Buffer.concat(chunks));
      resolve(isFine ? undefined : title);
    });
  });
}

async function testStep(filters) {
  if (filters.length === 0) return undefined;
  // Other tests start what is built.
  if (!filters.every(needsNoBuild)) {
    const failed = await step("build", "npm", [
      "run",
      "--silent",
      "build",
      "--",
      "--without-types",
    ]);
    if (failed !== undefined) return failed;
  }
  const projects = ["in-memory", "together"].flatMap((name) => ["--project", name]);
  return step("tests", "npx", ["vitest", "run", ...projects, "--passWithNoTests", ...filters]);
}

process.chdir(ROOT);
const changed = changedFiles();
const filters = [...new Set(changed.flatMap(testsOf))];
console.log(`${changed.length} changed files; tests of ${filters.join(", ") || "none"}`);
const biome = toolCommand("biome");
const results = await Promise.all([
  step("types", "npx", ["tsc", "-p", "tsconfig.check.json"]),
  step("lint", biome, ["check", "--no-errors-on-unmatched", ...changed]),
  testStep(filters),
]);
const failed = results.filter((title) => title !== undefined);
if (failed.length > 0) console.error(`\nFailed: ${failed.join(", ")}.`);
process.exitCode = failed.length === 0 ? 0 : 1;
