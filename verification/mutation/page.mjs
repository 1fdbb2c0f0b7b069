// The results of each file's mutants in results.json, and the report made from these results.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFigures } from "../../scripts/lib/figures.mjs";

const RESULTS = "verification/mutation/results.json";

/** Git's name for a file with this content: equal in every commit. */
export const blobOf = (root, source) =>
  execFileSync("git", ["hash-object", "--stdin"], { cwd: root, input: source, encoding: "utf8" })
    .trim()
    .slice(0, 10);

/** Returns the sums over several files. */
export const sumsOf = (results) => {
  const sum = (count) => Object.values(results).reduce((total, one) => total + count(one), 0);
  const [killed, endless] = [sum((one) => one.killed), sum((one) => one.endless)];
  const [refused, survived] = [sum((one) => one.refused), sum((one) => one.survivors.length)];
  const all = killed + endless + refused + survived;
  const caught = all - survived;
  return { killed, endless, refused, survived, all, caught };
};

/** Returns every survivor of several files. */
export const survivorsOf = (results) =>
  Object.entries(results).flatMap(([file, one]) => one.survivors.map((two) => ({ file, ...two })));

export const percent = (part, all) => `${((100 * part) / all).toFixed(1)} %`;

/** Returns the judgement of a survivor; undefined if there is none. */
export const judgementOf = (judged, { file, line, mutant }) =>
  judged.find((one) => one.file === file && one.line === line && one.mutants.includes(mutant));

const resultsIn = (root) => JSON.parse(readFileSync(join(root, RESULTS), "utf8"));

/** Replaces earlier results of the same files. */
export function noteResults(root, tried) {
  const results = Object.fromEntries(
    Object.entries({ ...resultsIn(root), ...tried })
      .filter(([file]) => existsSync(join(root, file)))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
  writeFigures(join(root, RESULTS), `${JSON.stringify(results, undefined, 2)}\n`);
}

const FOLDERS = ["src/core"];

/** Returns the recorded results as lines: the sums, every file, every survivor. */
export function reportOf(root, judged) {
  const results = resultsIn(root);
  const untried = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
  ).filter((file) => results[file] === undefined);
  const cell = (text) => `\`${text.replaceAll("|", "\\|")}\``;
  const sums = sumsOf(results);
  return [
    `Of ${sums.all} mutants the tests killed ${sums.killed} ` +
      `(${percent(sums.killed, sums.all)}), ${sums.endless} made them endless, the compiler refuses ` +
      `${sums.refused} of the rest, and ${sums.survived} survived. Caught: **${percent(sums.caught, sums.all)}**; ` +
      `by the tests alone ${percent(sums.killed + sums.endless, sums.all)}.`,
    "",
    "| file | tried | killed | endless | refused by the compiler | survived |",
    "| --- | --- | --- | --- | --- | --- |",
    ...Object.entries(results).map(([file, one]) => {
      const isThere = existsSync(join(root, file));
      const isNow = isThere && blobOf(root, readFileSync(join(root, file), "utf8")) === one.blob;
      const which = `${one.date}, \`${one.blob}\`${isNow ? "" : ", changed since"}`;
      const figures = [one.killed, one.endless, one.refused, one.survivors.length];
      return `| \`${file.replace("src/", "")}\` | ${which} | ${figures.join(" | ")} |`;
    }),
    "",
    `Not tried yet, or without mutants: ${untried.map((file) => `\`${file}\``).join(", ") || "none"}.`,
    "",
    "| survivor | change | why it survives |",
    "| --- | --- | --- |",
    ...survivorsOf(results).map((survivor) => {
      const where = `\`${survivor.file.replace(/^src\//, "")}\`: ${cell(survivor.line)}`;
      const why = judgementOf(judged, survivor)?.why ?? "Not judged yet.";
      return `| ${where} | ${cell(survivor.mutant)} | ${why} |`;
    }),
  ];
}
