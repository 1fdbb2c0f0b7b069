import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { everythingHappens } from "./everything.js";
import { scrapedAfter } from "./prometheus.js";

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const dashboard = JSON.parse(
  readFileSync(new URL("../../../../docs/grafana/holdfast.json", import.meta.url), "utf8"),
) as { readonly panels: readonly Panel[]; readonly templating: { readonly list: Variable[] } };

interface Variable {
  readonly name: string;
  readonly current: { readonly value?: string };
}

/** Labels that Prometheus and the scrape add. */
const GIVEN = new Set(["le", "job"]);

const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr: expr.replaceAll("$" + "{unit}", chosenFor("unit")) })),
);

function chosenFor(name: string): string {
  return dashboard.templating.list.find((one) => one.name === name)?.current.value ?? "";
}

/** The labels of each series name in a Prometheus answer. */
function seriesOf(text: string): Map<string, Set<string>> {
  const series = new Map<string, Set<string>>();
  for (const line of text.split("\n")) {
    const found = /^([a-z_]+)\{(.*)\} \S+$/.exec(line);
    if (found === null) continue;
    const labels = series.get(found[1] ?? "") ?? new Set();
    for (const [, label = ""] of (found[2] ?? "").matchAll(/([a-z_]+)="/g)) labels.add(label);
    series.set(found[1] ?? "", labels);
  }
  return series;
}

const metricsIn = (expr: string): string[] => expr.match(/\bholdfast_[a-z_]+(?=\{)/g) ?? [];

function labelsIn(expr: string): string[] {
  const grouped = [...expr.matchAll(/ by \(([^)]*)\)/g)].flatMap(([, by = ""]) => by.split(", "));
  const matched = [...expr.matchAll(/\b([a-z_]+)=~?"/g)].map(([, label = ""]) => label);
  return [...grouped, ...matched].filter((label) => !GIVEN.has(label));
}

describe("the dashboard", () => {
  let series: Map<string, Set<string>>;
  beforeAll(async () => {
    series = seriesOf(await scrapedAfter(everythingHappens));
  });

  it("has a query on every panel, and refers only to defined variables", () => {
    const shown = dashboard.panels.filter(({ type }) => type !== "row");
    expect(shown.length).toBeGreaterThan(15);
    expect(shown.filter(({ targets }) => targets === undefined || targets.length === 0)).toEqual(
      [],
    );
    const names = new Set(dashboard.templating.list.map(({ name }) => name));
    const used = [...JSON.stringify(dashboard).matchAll(/\$\{?([a-z]+)\b/g)].map(
      ([, name]) => name,
    );
    expect(used.filter((name) => !names.has(name ?? ""))).toEqual([]);
  });

  it.each(queries)("finds the query of `$title` in the exported series: $expr", ({ expr }) => {
    const metrics = metricsIn(expr);
    expect(metrics).toHaveLength(1);
    const labels = series.get(metrics[0] ?? "");
    expect(labels, "no such series").toBeDefined();
    expect(labelsIn(expr).filter((label) => !labels?.has(label))).toEqual([]);
  });

  it("shows every metric", () => {
    const bare = (name: string): string => name.replace(/_(bucket|count|sum)$/, "");
    const told = new Set(
      [...series.keys()].filter((name) => name.startsWith("holdfast_")).map(bare),
    );
    const shown = new Set(queries.flatMap(({ expr }) => metricsIn(expr)).map(bare));
    expect([...told].filter((name) => !shown.has(name))).toEqual([]);
  });
});
