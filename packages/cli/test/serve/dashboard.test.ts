import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { expect, it } from "vitest";
import { metricsText } from "../../src/serve/metrics.js";

const dashboard = JSON.parse(
  readFileSync(new URL("../../../../docs/grafana/holdfast-table.json", import.meta.url), "utf8"),
);

const text = { type: "string", minLength: 1 };
const count = { type: "integer", minimum: 0 };
const place = { type: "object", required: ["h", "w", "x", "y"], additionalProperties: count };

/** The part of Grafana's schema that an import reads. */
const SCHEMA = {
  type: "object",
  required: ["title", "uid", "schemaVersion", "panels", "templating", "time"],
  properties: {
    title: text,
    uid: { type: "string", pattern: "^[\\w-]{1,40}$" },
    schemaVersion: { type: "integer", minimum: 36 },
    panels: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        required: ["id", "title", "type", "datasource", "gridPos", "targets"],
        properties: {
          id: count,
          title: text,
          type: { enum: ["timeseries", "stat"] },
          gridPos: place,
          targets: {
            type: "array",
            minItems: 1,
            items: { type: "object", required: ["refId", "expr"], properties: { expr: text } },
          },
        },
      },
    },
  },
};

it("the dashboard fits Grafana's schema", () => {
  const validate = new Ajv({ strict: false }).compile(SCHEMA);
  validate(dashboard);
  expect(validate.errors ?? []).toEqual([]);
});

it("the dashboard shows every metric of the server, and no other", async () => {
  const facts = { isUp: true, ageS: 1, totalUnits: 2 };
  const { text: metrics } = await metricsText(undefined, facts);
  const known = [...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  const asked = JSON.stringify(dashboard.panels).match(/holdfast_\w+/g) ?? [];
  expect([...new Set(asked)].sort()).toEqual(known.sort());
});
