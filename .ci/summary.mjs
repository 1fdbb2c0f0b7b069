// Sums vitest's reports, each given with its exit status: prints "passed failed", and on stderr what failed and
// with which words. Whatever did not run counts as failed: a file that could not be loaded, one that is in no
// report, and one of which every test was skipped. With --part, other parts run the files that are in no report.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

const isPart = process.argv[2] === "--part";
const words = process.argv.slice(isPart ? 3 : 2);
const runs = words.flatMap((report, at) =>
  at % 2 === 0 ? [{ report, status: words[at + 1] }] : [],
);
const seen = new Set();
/** Of an error: what it says and where, not the whole of its stack. */
const LINES = 12;

function failure(path, { fullName, failureMessages }) {
  const words = failureMessages.join("\n").split("\n").slice(0, LINES);
  return [`${path} > ${fullName}`, ...words].join("\n        ");
}

function testFiles() {
  const folders = readdirSync("packages").map((name) => join("packages", name, "test"));
  return ["test", ...folders].flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .map((path) => join(folder, path).split(sep).join("/"))
      // Tools that a test installs beside itself bring tests of their own.
      .filter((path) => path.endsWith(".test.ts") && !path.includes("/node_modules/")),
  );
}

function summary({ report, status }) {
  if (!existsSync(report)) return { passed: 0, failed: 1, notes: [`vitest left no ${report}`] };
  const { testResults, numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
  const notes = [];
  for (const { name, status: outcome, assertionResults } of testResults) {
    const path = relative(process.cwd(), name).split(sep).join("/");
    seen.add(path);
    const ran = assertionResults.filter(({ status: one }) => one === "passed" || one === "failed");
    const refused = ran.filter(({ status: one }) => one === "failed");
    for (const one of refused) console.error(`FAILED  ${failure(path, one)}`);
    if (ran.length === 0) notes.push(`${path}: no test ran`);
    else if (outcome === "failed" && refused.length === 0)
      notes.push(`${path}: failed outside its tests`);
    const skipped = assertionResults.length - ran.length;
    if (skipped > 0) console.error(`${path}: ${skipped} skipped`);
  }
  // An error that no test waited for fails the run, and no test.
  if (status !== "0" && numFailedTests + notes.length === 0) notes.push(`exit status ${status}`);
  return { passed: numPassedTests, failed: numFailedTests + notes.length, notes };
}

const sums = runs.map(summary);
const leftOut = (isPart ? [] : testFiles())
  .filter((path) => !seen.has(path))
  .map((path) => `${path}: left out`);
for (const note of [...sums.flatMap(({ notes }) => notes), ...leftOut])
  console.error(`FAILED  ${note}`);
const total = (of) => sums.reduce((sum, one) => sum + of(one), 0);
console.log(`${total((one) => one.passed)} ${total((one) => one.failed) + leftOut.length}`);
