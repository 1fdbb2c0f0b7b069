import { filesOf, isSimulated, type Rule, type Variant } from "./variant.js";

/** The rules, in their order. */
export const RULES = Array.from({ length: 14 }, (_, index) => `R${index + 1}` as Rule);

const MARKS = {
  variants: ["<!-- variants: begin -->", "<!-- variants: end -->"],
  rules: ["<!-- rules: begin -->", "<!-- rules: end -->"],
} as const;

/** The median number of seeds that each variant took. */
export type Medians = ReadonlyMap<string, number>;

const code = (text: string): string => `\`${text}\``;
const row = (...cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

function catcherOf(variant: Variant): string {
  return isSimulated(variant)
    ? `${variant.caughtBy.invariant}${variant.caughtBy.of === undefined ? "" : `, of ${variant.caughtBy.of}`}`
    : `${code((variant.caughtBy as { test: string }).test)}`;
}

function variantsTable(variants: readonly Variant[], medians: Medians): string {
  const rows = variants.map((variant) => {
    const { name, what, rules } = variant;
    const cells = isSimulated(variant)
      ? [String(variant.caughtBy.within), String(medians.get(name) ?? "not measured")]
      : ["", ""];
    return row(code(name), what, rules.join(", "), catcherOf(variant), ...cells);
  });
  const head = row("variant", "the error", "rules", "caught by", "within", "median");
  return [head, row("---", "---", "---", "---", "---", "---"), ...rows].join("\n");
}

function rulesTable(variants: readonly Variant[]): string {
  const rows = RULES.map((rule) => {
    const its = variants.filter(({ rules }) => rules.includes(rule));
    const distinct = (all: readonly string[]): string => [...new Set(all)].join(", ");
    return row(
      rule,
      distinct(its.flatMap((variant) => filesOf(variant).map(code))),
      distinct(its.map(({ name }) => code(name))),
      distinct(its.map(catcherOf)),
    );
  });
  return [
    row("rule", "removed in", "by", "caught by"),
    row("---", "---", "---", "---"),
    ...rows,
  ].join("\n");
}

function between(page: string, which: keyof typeof MARKS): { from: number; to: number } {
  const [begin, end] = MARKS[which];
  const [from, to] = [page.indexOf(begin) + begin.length, page.indexOf(end)];
  if (from < begin.length || to < from) throw new Error(`The page has no place for ${begin}.`);
  return { from, to };
}

function replaced(page: string, which: keyof typeof MARKS, table: string): string {
  const { from, to } = between(page, which);
  return `${page.slice(0, from)}\n\n${table}\n\n${page.slice(to)}`;
}

/** The page with both tables as they are now. */
export function withTables(page: string, variants: readonly Variant[], medians: Medians): string {
  const first = replaced(page, "variants", variantsTable(variants, medians));
  return replaced(first, "rules", rulesTable(variants));
}

/** The medians that the page tells. */
export function mediansIn(page: string): Medians {
  const { from, to } = between(page, "variants");
  const rows = page.slice(from, to).matchAll(/^\| `([\w-]+)` \|.*\| (\d+) \|$/gm);
  return new Map([...rows].map(([, name = "", median]) => [name, Number(median)]));
}
