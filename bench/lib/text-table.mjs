// Rows for a terminal: one line each, whatever they hold.

function shown(value) {
  if (value === undefined || value === null) return "–";
  if (typeof value !== "object") return String(value);
  if ("low" in value) return `${value.median} [${value.low}, ${value.high}]`;
  if ("median" in value) return `${value.min} / ${value.median} / ${value.max}`;
  return Object.entries(value)
    .map(([name, one]) => `${name} ${shown(one)}`)
    .join(", ");
}

/** Columns in the order in which rows bring them; `what` describes, and is left to the report. */
export function textTable(rows) {
  const heads = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(
    (key) => key !== "what",
  );
  const lines = [heads, ...rows.map((row) => heads.map((head) => shown(row[head])))];
  const widths = heads.map((_, at) => Math.max(...lines.map((line) => line[at].length)));
  return lines.map((line) => line.map((cell, at) => cell.padEnd(widths[at])).join("  ")).join("\n");
}
