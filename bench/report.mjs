// Compares the tables of the documents with bench/results: node bench/report.mjs. Fails for a document that
// differs from the figures. With --write it writes the tables and the plots anew.
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeFigures } from "../scripts/lib/figures.mjs";
import { runs, TABLES } from "./report/tables.mjs";
import { SCALE_TABLES } from "./scale/tables.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const RESULTS = join(ROOT, "bench/results");
const PICTURES = join(ROOT, "docs/plots");
const DOCUMENTS = ["docs/performance.md"];
/** Tables made from several cases, or from no case. */
const OTHERS = { ...SCALE_TABLES, runs };
const BLOCK = /<!-- bench: ([\w-]+) -->\n[\s\S]*?<!-- end -->/g;

export function loadResults() {
  const files = readdirSync(RESULTS).filter((file) => file.endsWith(".json"));
  return Object.fromEntries(
    files.map((file) => [
      basename(file, ".json"),
      JSON.parse(readFileSync(join(RESULTS, file), "utf8")),
    ]),
  );
}

/** A document with every block made anew. */
export function rendered(text, results) {
  return text.replace(BLOCK, (_, name) => {
    const found = OTHERS[name]?.(results) ?? TABLES[name]?.(results[name], results);
    if (found === undefined) throw new Error(`There is no table "${name}".`);
    return `<!-- bench: ${name} -->\n\n${found}\n\n<!-- end -->`;
  });
}

async function main() {
  const isToWrite = process.argv.includes("--write");
  const results = loadResults();
  const stale = [];
  for (const document of DOCUMENTS) {
    const path = join(ROOT, document);
    if (!existsSync(path)) continue;
    const text = readFileSync(path, "utf8");
    const made = rendered(text, results);
    if (made === text) continue;
    if (isToWrite) writeFigures(path, made);
    else stale.push(document);
  }
  if (isToWrite) {
    mkdirSync(PICTURES, { recursive: true });
    const { draw, PLOTS } = await import("./report/plots.mjs");
    for (const [name, plot] of Object.entries(PLOTS)) {
      writeFigures(join(PICTURES, `${name}.svg`), `${await draw(plot(results))}\n`);
    }
  }
  for (const document of stale) console.error(`${document} differs from bench/results.`);
  process.exitCode = stale.length === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
