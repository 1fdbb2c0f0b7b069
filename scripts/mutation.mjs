// Mutation testing of the kernel: npm run mutation [-- FILE ...], files of src/lease and src/queue; all of them by default.
// Stryker makes the mutants and tries the kernel's tests on them. What survives is given to the compiler, as
// `npm run typecheck` would, and what is left must have been judged in scripts/mutation/judged.json. What became
// of each file is noted with the commit in scripts/mutation/results.json, and docs/mutation.md written from that.
// Results are kept in .tmp/mutation and used again where nothing has changed; `--force` tries everything anew.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { refusedByCompiler } from "./mutation/compiler.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const LEAST_PERCENT = 90;
const BEGIN = "<!-- result: begin, written by npm run mutation -->";
const END = "<!-- result: end -->";

const given = process.argv.slice(2);
const force = given.filter((word) => word === "--force");
const files = given.filter((word) => word !== "--force");
const only = files.length === 0 ? [] : ["--mutate", files.join(",")];
const stryker = join(ROOT, "node_modules", ".bin", "stryker");
const { status } = spawnSync(
  stryker,
  ["run", "scripts/mutation/stryker.config.json", ...force, ...only],
  { cwd: ROOT, stdio: "inherit" },
);
if (status !== 0) process.exit(status ?? 1);

const report = JSON.parse(readFileSync(join(ROOT, ".tmp/mutation/mutation.json"), "utf8"));
const judged = JSON.parse(readFileSync(join(ROOT, "scripts/mutation/judged.json"), "utf8"));

/** A mutant as a person reads it: the line, and what became what on it. */
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

const git = (...words) => execFileSync("git", words, { cwd: ROOT, encoding: "utf8" }).trim();
const commit = git("rev-parse", "--short", "HEAD");
const date = new Date().toISOString().slice(0, 10);
const tried = {};
for (const [file, { source, mutants }] of Object.entries(report.files)) {
  if (files.length > 0 && !files.includes(file)) continue;
  const count = (...of) => mutants.filter((mutant) => of.includes(mutant.status)).length;
  const left = mutants
    .filter((mutant) => ["Survived", "NoCoverage"].includes(mutant.status))
    .map((mutant) => readable(file, source, mutant));
  const refused = refusedByCompiler(ROOT, left);
  tried[file] = {
    ...{ date, commit, killed: count("Killed", "RuntimeError"), endless: count("Timeout") },
    refused: refused.size,
    survivors: left
      .filter((one) => !refused.has(one))
      .map(({ line, mutant }) => ({ line, mutant })),
  };
}

if (Object.keys(tried).length === 0)
  throw new Error(`There is nothing to change in: ${files.join(" ")}`);

const sumsOf = (results) => {
  const sum = (count) => Object.values(results).reduce((total, one) => total + count(one), 0);
  const [killed, endless] = [sum((one) => one.killed), sum((one) => one.endless)];
  const [refused, survived] = [sum((one) => one.refused), sum((one) => one.survivors.length)];
  const all = killed + endless + refused + survived;
  const caught = all - survived;
  return { killed, endless, refused, survived, all, caught };
};
const survivorsOf = (results) =>
  Object.entries(results).flatMap(([file, one]) => one.survivors.map((two) => ({ file, ...two })));
const percent = (part, all) => `${((100 * part) / all).toFixed(1)} %`;

const judgementOf = ({ file, line, mutant }) =>
  judged.find((one) => one.file === file && one.line === line && one.mutants.includes(mutant));
const unjudged = survivorsOf(tried).filter((one) => judgementOf(one) === undefined);

const { killed, endless, refused, survived, all, caught } = sumsOf(tried);
console.log(
  `\n${all} mutants, ${killed} killed, ${endless} endless, ${refused} refused by the compiler, ` +
    `${survived} survived: ${percent(caught, all)} caught`,
);
for (const { file, line, mutant } of unjudged) {
  console.log(JSON.stringify({ file, line, mutants: [mutant], why: "" }));
}
writeResult();
if (unjudged.length > 0) console.log(`${unjudged.length} survivors without a judgement, above.`);
process.exitCode = unjudged.length > 0 || (100 * caught) / all < LEAST_PERCENT ? 1 : 0;

function writeResult() {
  const kept = join(ROOT, "scripts/mutation/results.json");
  const before = JSON.parse(readFileSync(kept, "utf8"));
  const results = Object.fromEntries(
    Object.entries({ ...before, ...tried })
      .filter(([file]) => existsSync(join(ROOT, file)))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
  writeFileSync(kept, `${JSON.stringify(results, undefined, 2)}\n`);
  const path = join(ROOT, "docs/mutation.md");
  const text = readFileSync(path, "utf8");
  const head = text.slice(0, text.indexOf(BEGIN) + BEGIN.length);
  const tail = text.slice(text.indexOf(END));
  writeFileSync(path, `${head}\n\n${pageOf(results).join("\n")}\n\n${tail}`);
}

function pageOf(results) {
  const cell = (text) => `\`${text.replaceAll("|", "\\|")}\``;
  const sums = sumsOf(results);
  const survivors = survivorsOf(results);
  const used = judged.filter((one) => survivors.some((survivor) => judgementOf(survivor) === one));
  return [
    `Node ${process.versions.node}: of ${sums.all} mutants the tests killed ${sums.killed} ` +
      `(${percent(sums.killed, sums.all)}), ${sums.endless} made them go on for ever, the compiler refuses ` +
      `${sums.refused} of the rest, and ${sums.survived} survived. Caught: **${percent(sums.caught, sums.all)}**; ` +
      `by the tests alone ${percent(sums.killed + sums.endless, sums.all)}.`,
    "",
    "| file | tried | killed | endless | refused by the compiler | survived |",
    "| --- | --- | --- | --- | --- | --- |",
    ...Object.entries(results).map(
      ([file, one]) =>
        `| \`${file.replace("src/", "")}\` | ${one.date}, \`${one.commit}\` | ${one.killed} | ${one.endless} | ` +
        `${one.refused} | ${one.survivors.length} |`,
    ),
    "",
    "| survivor | what became what | why it survives |",
    "| --- | --- | --- |",
    ...used.map((one) => {
      const which = one.mutants.filter((mutant) =>
        survivors.some((survivor) => judgementOf(survivor) === one && survivor.mutant === mutant),
      );
      const where = `\`${one.file.replace(/^src\/(lease\/)?/, "")}\`: ${cell(one.line)}`;
      return `| ${where} | ${which.map(cell).join("; ")} | ${one.why} |`;
    }),
  ];
}
