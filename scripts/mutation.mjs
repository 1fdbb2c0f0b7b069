// Mutation testing of the kernel: npm run mutation [-- FILE ...], files of src/lease and src/queue; all of them by default.
// Stryker makes the mutants and tries the kernel's tests on them. What survives is given to the compiler, as
// `npm run typecheck` would, and what is left must have been judged in scripts/mutation/judged.json. A whole
// run writes docs/mutation.md. Results are kept in .tmp/mutation and used again where nothing has changed;
// `--force` tries everything anew.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
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

const rows = [];
const survivors = [];
for (const [file, { source, mutants }] of Object.entries(report.files)) {
  if (files.length > 0 && !files.includes(file)) continue;
  const count = (...of) => mutants.filter((mutant) => of.includes(mutant.status)).length;
  const left = mutants
    .filter((mutant) => ["Survived", "NoCoverage"].includes(mutant.status))
    .map((mutant) => readable(file, source, mutant));
  const refused = refusedByCompiler(ROOT, left);
  survivors.push(...left.filter((one) => !refused.has(one)));
  rows.push({
    file,
    killed: count("Killed", "RuntimeError"),
    endless: count("Timeout"),
    refused: refused.size,
    survived: left.length - refused.size,
  });
}

if (rows.length === 0) throw new Error(`There is nothing to change in: ${files.join(" ")}`);

const sum = (key) => rows.reduce((total, row) => total + row[key], 0);
const all = sum("killed") + sum("endless") + sum("refused") + sum("survived");
const percent = (part) => `${((100 * part) / all).toFixed(1)} %`;
const caught = all - sum("survived");

const judgementOf = ({ file, line, mutant }) =>
  judged.find((one) => one.file === file && one.line === line && one.mutants.includes(mutant));
const unjudged = survivors.filter((one) => judgementOf(one) === undefined);

console.log(
  `\n${all} mutants, ${sum("killed")} killed, ${sum("endless")} endless, ` +
    `${sum("refused")} refused by the compiler, ${sum("survived")} survived: ${percent(caught)} caught`,
);
for (const { file, line, mutant } of unjudged) {
  console.log(JSON.stringify({ file, line, mutants: [mutant], why: "" }));
}
if (files.length === 0) writeResult();
if (unjudged.length > 0) console.log(`${unjudged.length} survivors without a judgement, above.`);
process.exitCode = unjudged.length > 0 || (100 * caught) / all < LEAST_PERCENT ? 1 : 0;

function writeResult() {
  const git = (...words) => execFileSync("git", words, { cwd: ROOT, encoding: "utf8" }).trim();
  const cell = (text) => `\`${text.replaceAll("|", "\\|")}\``;
  const used = judged.filter((one) => survivors.some((survivor) => judgementOf(survivor) === one));
  const result = [
    `On ${new Date().toISOString().slice(0, 10)}, at commit \`${git("rev-parse", "--short", "HEAD")}\`, ` +
      `Node ${process.versions.node}: of ${all} mutants the tests killed ${sum("killed")} ` +
      `(${percent(sum("killed"))}), ${sum("endless")} made them go on for ever, the compiler refuses ` +
      `${sum("refused")} of the rest, and ${sum("survived")} survived. Caught: **${percent(caught)}**; by the ` +
      `tests alone ${percent(sum("killed") + sum("endless"))}.`,
    "",
    "| file | killed | endless | refused by the compiler | survived |",
    "| --- | --- | --- | --- | --- |",
    ...rows.map(
      ({ file, killed, endless, refused, survived }) =>
        `| \`${file.replace("src/", "")}\` | ${killed} | ${endless} | ${refused} | ${survived} |`,
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
  const path = join(ROOT, "docs/mutation.md");
  const text = readFileSync(path, "utf8");
  const before = text.slice(0, text.indexOf(BEGIN) + BEGIN.length);
  const after = text.slice(text.indexOf(END));
  writeFileSync(path, `${before}\n\n${result.join("\n")}\n\n${after}`);
}
