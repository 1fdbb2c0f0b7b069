// Rewrites api/ from the last build: npm run api. The diff shows the change of the public surface. With --check it
// changes nothing, and fails if a report differs from the build.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, subpaths } from "../lib/entries.mjs";
import { apiReport } from "./report.mjs";

const FOLDER = join(ROOT, "api");
const isToCheck = process.argv.includes("--check");

mkdirSync(FOLDER, { recursive: true });
const known = new Set(subpaths.map(({ report }) => report));
const removed = readdirSync(FOLDER).filter((file) => file.endsWith(".api.md") && !known.has(file));
const differing = [...removed];
for (const file of isToCheck ? [] : removed) rmSync(join(FOLDER, file));
for (const one of subpaths) {
  const path = join(FOLDER, one.report);
  const made = apiReport(one);
  if (existsSync(path) && readFileSync(path, "utf8") === made) continue;
  differing.push(one.report);
  if (!isToCheck) writeFileSync(path, made);
}
for (const file of differing) console.log(`api/${file} ${isToCheck ? "differs" : "changed"}`);
if (isToCheck && differing.length > 0) {
  console.error(
    "The public surface differs from api/: run `npm run api`, and commit the difference.",
  );
  process.exitCode = 1;
}
