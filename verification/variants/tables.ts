import { isSimulated, type Rule, type Variant } from "./variant.js";

/** The rules in order. */
export const RULES = Array.from({ length: 14 }, (_, index) => `R${index + 1}` as Rule);

/** The median number of seeds for each variant, by name. */
export type Medians = Readonly<Record<string, number>>;

const code = (text: string): string => `\`${text}\``;
const row = (...cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

function catcherOf(variant: Variant): string {
  return isSimulated(variant)
    ? `${variant.caughtBy.invariant}${variant.caughtBy.of === undefined ? "" : `, of ${variant.caughtBy.of}`}`
    : `${code((variant.caughtBy as { test: string }).test)}`;
}

/**
 * Returns a table of all variants: the defect, the check which catches it, and the limit and the median of the seeds.
 */
export function variantsTable(variants: readonly Variant[], medians: Medians): string {
  const rows = variants.map((variant) => {
    const { name, what, rules } = variant;
    const cells = isSimulated(variant)
      ? [String(variant.caughtBy.within), String(medians[name] ?? "not measured")]
      : ["", ""];
    return row(code(name), what, rules.join(", "), catcherOf(variant), ...cells);
  });
  const head = row("variant", "defect", "rules", "caught by", "within", "median");
  return [head, row("---", "---", "---", "---", "---", "---"), ...rows].join("\n");
}
