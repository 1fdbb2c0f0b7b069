import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { writeFigures } from "../../scripts/lib/figures.mjs";
import { FORMATS } from "./formats.js";
import { type Played, tableOf, withTable } from "./table.js";

const [PAGE, MANIFEST] = ["test/interop/results.md", "packages/holdfast/package.json"].map((path) =>
  fileURLToPath(new URL(`../../${path}`, import.meta.url)),
) as [string, string];
const isFull = process.env["INTEROP_FULL"] === "1";
const isToWrite = process.env["INTEROP_WRITE"] === "1";

function playedOf(test: TestCase): Played[] {
  const { seen } = test.meta();
  if (seen === undefined) return [];
  const result = test.result();
  if (result.state === "skipped") return [{ ...seen, outcome: "not asked", why: result.note }];
  return [{ ...seen, outcome: result.state === "passed" ? "passed" : "failed" }];
}

/** Prints the table after the run; on request, also writes the table into the page. */
export default class InteropReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const inOrder = modules.toSorted((one, other) => (one.moduleId < other.moduleId ? -1 : 1));
    const played = inOrder.flatMap((module) => [...module.children.allTests()].flatMap(playedOf));
    if (played.length === 0) return;
    const date = new Date().toISOString().slice(0, 10);
    const how = isFull ? "`npm run interop -- --full`" : "`npm run interop`, the short form";
    const { name, version } = JSON.parse(readFileSync(MANIFEST, "utf8"));
    const head = `${name} ${version}, Node ${process.versions.node}, ${date}, ${how}:`;
    const text = `${head}\n\n${tableOf(played)}`;
    console.log(`\n${text}`);
    if (isToWrite) write(text, played);
  }
}

function write(text: string, played: readonly Played[]): void {
  const run = new Set(played.map(({ driver }) => driver));
  const missing = FORMATS.map(({ format, driver = format }) => driver).filter(
    (driver) => !run.has(driver),
  );
  if (missing.length > 0) throw new Error(`Not written: ${missing.join(", ")} was not run.`);
  writeFigures(PAGE, withTable(readFileSync(PAGE, "utf8"), text), isToWrite);
}
