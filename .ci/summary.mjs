// Sums one vitest report: prints "passed failed". Whatever did not run counts as failed: a file that could
// not be loaded, one that is not in the report, and one of which every test was skipped.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

const [report, status] = process.argv.slice(2);

function testFiles() {
  return readdirSync("test", { recursive: true })
    .map((path) => join("test", path).split(sep).join("/"))
    .filter((path) => path.endsWith(".test.ts"));
}

function summary() {
  if (!existsSync(report)) return { passed: 0, failed: 1, notes: ["vitest left no report"] };
  const { testResults, numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
  const notes = [];
  const seen = new Set();
  for (const { name, status: outcome, assertionResults } of testResults) {
    const path = relative(process.cwd(), name).split(sep).join("/");
    seen.add(path);
    const ran = assertionResults.filter(({ status: one }) => one === "passed" || one === "failed");
    const isToldOtherwise = ran.some(({ status: one }) => one === "failed");
    if (ran.length === 0) notes.push(`${path}: no test ran`);
    else if (outcome === "failed" && !isToldOtherwise)
      notes.push(`${path}: failed outside its tests`);
    const skipped = assertionResults.length - ran.length;
    if (skipped > 0) console.error(`${path}: ${skipped} skipped`);
  }
  notes.push(
    ...testFiles()
      .filter((path) => !seen.has(path))
      .map((path) => `${path}: left out`),
  );
  // An error that no test waited for fails the run, and no test.
  if (status !== "0" && numFailedTests + notes.length === 0) notes.push(`exit status ${status}`);
  return { passed: numPassedTests, failed: numFailedTests + notes.length, notes };
}

const { passed, failed, notes } = summary();
for (const note of notes) console.error(`FAILED  ${note}`);
console.log(`${passed} ${failed}`);
