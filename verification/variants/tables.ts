import type { InWorld, Medians } from "./recorded.js";
import { isSimulated, type Rule, type Variant } from "./variant.js";

/** The rules in order. */
export const RULES = Array.from({ length: 14 }, (_, index) => `R${index + 1}` as Rule);

const code = (text: string): string => `\`${text}\``;
const row = (...cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

function catcherOf(variant: Variant): string {
  return isSimulated(variant)
    ? `${variant.caughtBy.invariant}${variant.caughtBy.of === undefined ? "" : `, of ${variant.caughtBy.of}`}`
    : `${code((variant.caughtBy as { test: string }).test)}`;
}

function worldCell(seeds: number | null | undefined): string {
  return seeds === undefined ? "not measured" : String(seeds ?? "not caught");
}

/**
 * Returns a table of all variants: the defect, the check which catches it, the limit and the median of its seeds, and
 * the seeds of the world.
 */
export function variantsTable(
  variants: readonly Variant[],
  medians: Medians,
  inWorld: InWorld,
): string {
  const rows = variants.map((variant) => {
    const { name, what, rules } = variant;
    const cells = isSimulated(variant)
      ? [String(variant.caughtBy.within), String(medians[name] ?? "not measured")]
      : ["", ""];
    return row(
      code(name),
      what,
      rules.join(", "),
      catcherOf(variant),
      ...cells,
      worldCell(inWorld[name]),
    );
  });
  const head = ["variant", "defect", "rules", "caught by", "within", "median", "in the world"];
  return [row(...head), row(...head.map(() => "---")), ...rows].join("\n");
}
