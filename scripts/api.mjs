// Rewrites api/ from the last build: npm run api. The diff shows the change of the public surface.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { apiReport } from "./lib/api-report.mjs";
import { subpaths } from "./lib/entries.mjs";

const folder = fileURLToPath(new URL("../api/", import.meta.url));
mkdirSync(folder, { recursive: true });
const known = new Set(subpaths.map(({ report }) => report));
for (const file of readdirSync(folder)) {
  if (file.endsWith(".api.md") && !known.has(file)) rmSync(folder + file);
}
for (const one of subpaths) {
  writeFileSync(folder + one.report, apiReport(one));
  console.log(`api/${one.report}`);
}
