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
      const first = `max_over_time(${metric}{${selected}}[${window}]) unless last_over_time(${metric}[10m] offset ${window})`;
      expect(expr).toContain(`(${first} or ${increase})`);
    }
  });

  it.each(rules)("$alert has a runbook", ({ annotations }) => {
    const [path, anchor] = annotations.runbook.split("#");
    expect(path).toBe("docs/runbooks.md");
    expect(anchors).toContain(anchor);
  });
});

interface Dimension {
  readonly Name: string;
  readonly Value: string;
}

interface Metric {
  readonly MetricName: string;
  readonly Dimensions: readonly Dimension[];
}

interface Alarm extends Metric {
  readonly AlarmDescription: string;
  readonly Metrics?: readonly {
    readonly Id: string;
    readonly Expression?: string;
    readonly MetricStat?: { readonly Metric: Metric };
  }[];
}

describe("the alarms for CloudWatch", () => {
  const { Resources } = parse(read("docs/alerts/cloudwatch.yaml"), { logLevel: "silent" }) as {
    readonly Resources: Readonly<Record<string, { readonly Properties: Alarm }>>;
  };
  const alarms = Object.entries(Resources).map(
    ([name, { Properties }]) => [name, Properties] as const,
  );

  it.each(alarms)("%s names metrics of the library, and a runbook", (_, alarm) => {
    const instruments = read("packages/holdfast/src/telemetry/instruments.ts");
    const ofMath = (alarm.Metrics ?? []).flatMap(({ MetricStat }) => MetricStat?.Metric ?? []);
    const metrics = alarm.Metrics === undefined ? [alarm] : ofMath;
    expect(metrics.length).toBeGreaterThan(0);
    for (const { MetricName, Dimensions } of metrics) {
      expect(instruments).toContain(`"${MetricName}"`);
      // The exporter adds the name of the meter to the dimensions of every metric.
      expect(Dimensions[0]).toEqual({ Name: "OTelLib", Value: "holdfast" });
    }
    const [, anchor] = /runbooks\.md#([\w-]+)/.exec(alarm.AlarmDescription) ?? [];
    expect(anchors).toContain(anchor);
  });

  it("leave out the losses that the rules for Prometheus leave out", () => {
    const { Metrics = [] } = Resources["LeaseLost"]?.Properties ?? {};
    const expression = Metrics.find(({ Expression }) => Expression !== undefined)?.Expression ?? "";
    const left = Metrics.flatMap(({ Id, MetricStat }) => {
      const reason = MetricStat?.Metric.Dimensions.find(({ Name }) => Name === "holdfast.reason");
      return reason !== undefined && expression.includes(` - FILL(${Id}, 0)`) ? [reason.Value] : [];
    });
    const rule = rules.find(({ alert }) => alert === "HoldfastLeaseLost")?.expr ?? "";
    expect(left.sort()).toEqual(/holdfast_reason!~"([^"]*)"/.exec(rule)?.[1]?.split("|").sort());
  });
});
