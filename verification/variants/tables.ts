import { isSimulated, type Rule, type Variant } from "./variant.js";

/** The rules, in their order. */
export const RULES = Array.from({ length: 14 }, (_, index) => `R${index + 1}` as Rule);

/** The median number of seeds that each variant took, by the variant's name. */
export type Medians = Readonly<Record<string, number>>;

const code = (text: string): string => `\`${text}\``;
const row = (...cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

function catcherOf(variant: Variant): string {
  return isSimulated(variant)
    ? `${variant.caughtBy.invariant}${variant.caughtBy.of === undefined ? "" : `, of ${variant.caughtBy.of}`}`
    : `${code((variant.caughtBy as { test: string }).test)}`;
}

/** Every variant with its error, what catches it, and the seeds that this takes at most and in the median. */
export function variantsTable(variants: readonly Variant[], medians: Medians): string {
  const rows = variants.map((variant) => {
    const { name, what, rules } = variant;
    const cells = isSimulated(variant)
      ? [String(variant.caughtBy.within), String(medians[name] ?? "not measured")]
      : ["", ""];
    return row(code(name), what, rules.join(", "), catcherOf(variant), ...cells);
  });
  const head = row("variant", "the error", "rules", "caught by", "within", "median");
  return [head, row("---", "---", "---", "---", "---", "---"), ...rows].join("\n");
}
