// Rewrites the folders `api` of the packages from the last build: npm run api. The diff shows the change of the public
// surface. With --check it changes nothing, and fails if a report differs from the build.
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { entries, ROOT } from "../lib/entries.mjs";
import { apiReport } from "./report.mjs";

const isToCheck = process.argv.includes("--check");

const known = new Set(entries.map(({ report }) => report));
const removed = globSync("packages/*/api/*.api.md", { cwd: ROOT })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => !known.has(path));
const differing = [...removed];
for (const path of isToCheck ? [] : removed) rmSync(join(ROOT, path));
for (const one of entries) {
  const path = join(ROOT, one.report);
  const made = apiReport(one);
  if (existsSync(path) && readFileSync(path, "utf8") === made) continue;
  differing.push(one.report);
  mkdirSync(dirname(path), { recursive: true });
  if (!isToCheck) writeFileSync(path, made);
}
for (const path of differing) console.log(`${path} ${isToCheck ? "differs" : "changed"}`);
if (isToCheck && differing.length > 0) {
  console.error(
    "The public surface differs from the reports: run `npm run api`, and commit the difference.",
  );
  process.exitCode = 1;
}
