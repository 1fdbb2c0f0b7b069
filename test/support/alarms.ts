import { readFileSync } from "node:fs";

/** The alarms in a section of docs/operations.md: name and threshold, word for word. */
export function alarmsUnder(heading: string): Readonly<Record<string, string>> {
  const text = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
  const [, section = ""] = text.split(`\n## ${heading}\n`);
  const [, table = ""] = (section.split("\n## ")[0] ?? "").split("\n### Alarms\n");
  const rows = table.split("\n").filter((line) => line.startsWith("| "));
  return Object.fromEntries(
    rows.slice(2).map((row) => {
      const [, alarm = "", threshold = ""] = row.split("|").map((cell) => cell.trim());
      return [alarm, threshold];
    }),
  );
}
