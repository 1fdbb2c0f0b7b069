import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { everythingHappens } from "./everything.js";
import { scrapedAfter } from "./prometheus.js";

/** The ready alert rules name metrics that the library exports, and runbooks that exist. */

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

const read = (path: string): string =>
  readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8");

const { groups } = parse(read("docs/alerts/prometheus.yaml")) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);

const anchors = [...read("docs/runbooks.md").matchAll(/^## (.+)$/gm)].map(([, title = ""]) =>
  title
    .toLowerCase()
    .replaceAll(/[^\w -]/g, "")
    .replaceAll(" ", "-"),
);

const LABEL = /\b([a-z_]+)(?:=~?|!=|!~)"/g;
const INCREASE = /increase\((\w+)\{([^}]*)\}\[(\w+)\]\)/g;
const metricsIn = (expr: string): string[] => expr.match(/\bholdfast_[a-z_]+(?=\{)/g) ?? [];

describe("the alert rules for Prometheus", () => {
  let text = "";
  beforeAll(async () => {
    text = await scrapedAfter(everythingHappens);
  });

  it.each(rules)("$alert names exported metrics, with their labels", ({ expr }) => {
    const metrics = metricsIn(expr);
    expect(metrics.length).toBeGreaterThan(0);
    for (const metric of metrics) {
      const series = text.split("\n").filter((line) => line.startsWith(`${metric}{`));
      expect(series, metric).not.toEqual([]);
      const selected = new RegExp(`${metric}\\{([^}]*)\\}`).exec(expr)?.[1] ?? "";
      for (const [, label = ""] of selected.matchAll(LABEL)) {
        expect(
          series.some((line) => line.includes(`${label}="`)),
          label,
        ).toBe(true);
      }
    }
    const grouped = [...expr.matchAll(/ by \(([^)]*)\)/g)].flatMap(([, by = ""]) => by.split(", "));
    for (const label of grouped) expect(text).toContain(`${label}="`);
  });

  it.each(rules)("$alert holds where a series is missing", ({ expr }) => {
    // A sum of no series is empty, not 0.
    expect(expr).not.toMatch(/\band on\(\)[\s\S]*== 0/);
  });

  it.each(rules)("$alert counts the first event of a series", ({ expr }) => {
    for (const [increase, metric, selected, window] of expr.matchAll(INCREASE)) {
      // Told again at each poll of a candidate.
      if (metric === "holdfast_election_gap_looks_total") continue;
      const first = `max_over_time(${metric}{${selected}}[${window}]) unless ${metric} offset ${window}`;
      expect(expr).toContain(`(${first} or ${increase})`);
    }
  });

  it.each(rules)("$alert has a runbook", ({ annotations }) => {
    const [path, anchor] = annotations.runbook.split("#");
    expect(path).toBe("docs/runbooks.md");
    expect(anchors).toContain(anchor);
  });
});

describe("the alarms for CloudWatch", () => {
  it("name metrics of the library, and runbooks", () => {
    const text = read("docs/alerts/cloudwatch.yaml");
    const instruments = read("packages/holdfast/src/telemetry/instruments.ts");
    const metrics = [...text.matchAll(/MetricName: (\S+)/g)].map(([, name]) => name);
    expect(metrics.length).toBeGreaterThan(3);
    for (const name of metrics) expect(instruments).toContain(`"${name}"`);
    const linked = [...text.matchAll(/runbooks\.md#([\w-]+)/g)].map(([, anchor]) => anchor);
    expect(linked).toHaveLength(metrics.length);
    for (const anchor of linked) expect(anchors).toContain(anchor);
  });
});
