// Rows for a terminal: one line each, with any content.

function shown(value) {
  if (value === undefined || value === null) return "–";
  if (typeof value !== "object") return String(value);
  if ("low" in value) return `${value.median} [${value.low}, ${value.high}]`;
  if ("median" in value) return `${value.min} / ${value.median} / ${value.max}`;
  return Object.entries(value)
    .map(([name, one]) => `${name} ${shown(one)}`)
    .join(", ");
}

/** Columns in the order of the rows' members; `what` is a description for the report only. */
export function textTable(rows) {
  const heads = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(
    (key) => key !== "what",
  );
  const lines = [heads, ...rows.map((row) => heads.map((head) => shown(row[head])))];
  const widths = heads.map((_, at) => Math.max(...lines.map((line) => line[at].length)));
  return lines.map((line) => line.map((cell, at) => cell.padEnd(widths[at])).join("  ")).join("\n");
}
