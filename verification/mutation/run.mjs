// Mutation testing of the core: node verification/mutation/run.mjs [FILE ...], files of packages/holdfast/src/core; all of them by default. Stryker
// makes the mutants and runs the core's tests against each. The compiler checks the survivors, as `npm run typecheck`
// would, and verification/mutation/judged.json must judge the rest. Results are kept in .tmp/mutation and reused for
// unchanged files; `--force` runs everything again.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onDevelopmentNode } from "../../scripts/lib/ready.mjs";
import { toolCommand } from "../../scripts/lib/tools.mjs";
import { refusedByCompiler } from "./compiler.mjs";
import { sumsOf, tableOf } from "./score.mjs";

await onDevelopmentNode();

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const LEAST_PERCENT = 90;
const FLAGS = ["--force"];

const judged = JSON.parse(readFileSync(join(ROOT, "verification/mutation/judged.json"), "utf8"));
const given = process.argv.slice(2);
const unknown = given.filter((word) => word.startsWith("-") && !FLAGS.includes(word));
if (unknown.length > 0) {
  console.error(
    `Unknown: ${unknown.join(" ")}. node verification/mutation/run.mjs [FILE ...] [${FLAGS.join("] [")}]`,
  );
  process.exit(64);
}
const force = given.filter((word) => word === "--force");
const files = given.filter((word) => !FLAGS.includes(word));
const only = files.length === 0 ? [] : ["--mutate", files.join(",")];
const { status } = spawnSync(
  toolCommand("stryker", "verification/mutation"),
  ["run", "verification/mutation/stryker.config.json", ...force, ...only],
  { cwd: ROOT, stdio: "inherit" },
);
if (status !== 0) process.exit(status ?? 1);

const report = JSON.parse(readFileSync(join(ROOT, ".tmp/mutation/mutation.json"), "utf8"));

/** Describes a mutant for people: the line, the original code and its replacement. */
function readable(file, source, { location: { start, end }, mutatorName, replacement }) {
  const lines = source.split("\n");
  const from = positionOf(lines, start);
  const to = positionOf(lines, end);
  const short = (text) => text.replaceAll(/\s+/g, " ").slice(0, 120);
  return {
    file,
    line: short(lines[start.line - 1].trim()),
    mutant: `${short(source.slice(from, to))} → ${short(replacement)}`,
    mutated: source.slice(0, from) + replacement + source.slice(to),
    mutatorName,
  };
}

function positionOf(lines, { line, column }) {
  return lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
}

/** Whether judged.json says why this survivor is no error. */
const isJudged = ({ file, line, mutant }) =>
  judged.some((one) => one.file === file && one.line === line && one.mutants.includes(mutant));

const tried = [];
for (const [file, { source, mutants }] of Object.entries(report.files)) {
  if (files.length > 0 && !files.includes(file)) continue;
  const count = (...of) => mutants.filter((mutant) => of.includes(mutant.status)).length;
  const left = mutants
    .filter((mutant) => ["Survived", "NoCoverage"].includes(mutant.status))
    .map((mutant) => readable(file, source, mutant));
  const refused = refusedByCompiler(ROOT, left);
  const killed = count("Killed", "RuntimeError");
  const survivors = left.filter((one) => !refused.has(one));
  tried.push({ file, killed, endless: count("Timeout"), refused: refused.size, survivors });
}

if (tried.length === 0) throw new Error(`There are no mutants in: ${files.join(" ")}`);

const { all, caught } = sumsOf(tried);
console.log(`\n${tableOf(tried)}\n`);
const unjudged = tried.flatMap(({ survivors }) => survivors).filter((one) => !isJudged(one));
for (const { file, line, mutant } of unjudged) {
  console.log(JSON.stringify({ file, line, mutants: [mutant], why: "" }));
}
if (unjudged.length > 0) console.log(`${unjudged.length} survivors without a judgement, above.`);
process.exitCode = unjudged.length > 0 || (100 * caught) / all < LEAST_PERCENT ? 1 : 0;
