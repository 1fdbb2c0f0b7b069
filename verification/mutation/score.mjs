// The sums of the mutants of each file, and the table of verification/README.md.
import { dirname } from "node:path";

const percent = (part, all) => `${((100 * part) / all).toFixed(1)} %`;

/** Returns the sums over several files. */
export function sumsOf(tried) {
  const sum = (count) => tried.reduce((total, one) => total + count(one), 0);
  const [killed, endless] = [sum((one) => one.killed), sum((one) => one.endless)];
  const [refused, survived] = [sum((one) => one.refused), sum((one) => one.survivors.length)];
  const all = killed + endless + refused + survived;
  return { killed, endless, refused, survived, all, caught: all - survived };
}

/** Returns a row for each folder, and one for all, as Markdown. */
export function tableOf(tried) {
  const folders = [...new Set(tried.map(({ file }) => dirname(file)))].sort();
  const row = (title, { killed, endless, refused, survived, all, caught }) =>
    `| ${[title, all, killed, endless, refused, survived, percent(caught, all)].join(" | ")} |`;
  return [
    "| files | mutants | killed | endless | refused by the compiler | survived | caught |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...folders.map((folder) =>
      row(`\`${folder}\``, sumsOf(tried.filter(({ file }) => dirname(file) === folder))),
    ),
    row("all", sumsOf(tried)),
  ].join("\n");
}
