// The plots of the documents, as Vega-Lite specifications; drawn without a browser.
import { parse, View } from "vega";
import { compile } from "vega-lite";

const BASE = {
  $schema: "https://vega.github.io/schema/vega-lite/v6.json",
  background: "white",
  config: { font: "sans-serif", view: { stroke: null }, axis: { grid: true, gridColor: "#eee" } },
};
const isOwn = "indexof(datum.subject, 'holdfast') >= 0";
const OWN_COLOUR = { condition: { test: isOwn, value: "#0b6e4f" }, value: "#9aa5b1" };

/** A bar for each client from least to most, with a tick at the median. */
function ranges(rows, key, title, scale = {}) {
  const values = rows
    .filter((row) => row[key])
    .map((row) => ({ subject: row.subject, ...row[key] }));
  const y = { field: "subject", type: "nominal", sort: { field: "median" }, title: null };
  const x = (field) => ({ field, type: "quantitative", title, scale });
  return {
    ...BASE,
    width: 480,
    data: { values },
    encoding: { y },
    layer: [
      {
        mark: { type: "bar", height: 6, opacity: 0.4 },
        encoding: { x: x("min"), x2: { field: "max" }, color: OWN_COLOUR },
      },
      {
        mark: { type: "tick", thickness: 3, size: 14 },
        encoding: { x: x("median"), color: OWN_COLOUR },
      },
    ],
  };
}

/** A line for each series over a size, both in decades. */
function growth(values, { size, sizeTitle, value, title, series }) {
  return {
    ...BASE,
    width: 420,
    height: 260,
    data: { values: values.filter((row) => row[value] > 0) },
    mark: { type: "line", point: true },
    encoding: {
      x: { field: size, type: "quantitative", scale: { type: "log" }, title: sizeTitle },
      y: { field: value, type: "quantitative", scale: { type: "log" }, title },
      color: { field: series, type: "nominal", title: null },
    },
  };
}

const heldSize = { size: "locks", sizeTitle: "locks held", series: "subject" };
const isHoldfast = ({ subject }) => subject.startsWith("holdfast");

/** Each plot by its file's name: a function of the figures. */
export const PLOTS = {
  free: ({ free }) => ranges(free.rows, "cycleMs", "acquire and release a free lock, ms"),
  "free-cpu": ({ free }) => ranges(free.rows, "cpuUs", "the client's CPU for it, µs"),
  takeover: ({ takeover }) =>
    ranges(takeover.rows, "takeoverMs", "from SIGKILL to the next holder, ms, lease 3 s", {
      zero: true,
    }),
  "lost-answer": ({ faults }) =>
    ranges(
      faults.rows,
      "lostGrantMs",
      "wait after the acquiring write's answer was lost, ms, lease 3 s",
      { zero: true },
    ),
  contenders: ({ contenders }) =>
    growth(
      contenders.rows
        .filter(({ processes }) => processes === 1)
        .map((row) => ({
          ...row,
          requests: row.requestsAGrant.median,
          series: `${row.subject}, ${row.poll}`,
        })),
      {
        size: "contenders",
        sizeTitle: "contenders in one process",
        value: "requests",
        title: "requests a grant",
        series: "series",
      },
    ),
  "held-requests": ({ held }) =>
    growth(
      held.rows
        .filter(isHoldfast)
        .map((row) => ({ ...row, requests: (row.requestsAPeriod * 10) / row.periodS })),
      { ...heldSize, value: "requests", title: "requests in 10 s" },
    ),
  "held-cpu": ({ held }) =>
    growth(held.rows.filter(isHoldfast), { ...heldSize, value: "cores", title: "share of a core" }),
  age: ({ age }) =>
    growth(
      age.rows
        .filter(({ records }) => records > 0)
        .flatMap(({ records, listing, newName }) => [
          { records, units: listing.readUnits, series: "list the table" },
          { records, units: newName.writeUnits, series: "acquire and release" },
        ]),
      {
        size: "records",
        sizeTitle: "old records in the table",
        value: "units",
        title: "units",
        series: "series",
      },
    ),
  queue: ({ queue }) =>
    growth(queue.rows, {
      size: "waiters",
      sizeTitle: "waiting processes",
      value: "requestsAWaiterMinute",
      title: "requests a waiter and minute",
      series: "kind",
    }),
  "queue-units": ({ queue }) =>
    growth(queue.rows, {
      size: "waiters",
      sizeTitle: "waiting processes",
      value: "readUnitsAWaiterMinute",
      title: "read units a waiter and minute",
      series: "kind",
    }),
};

export function draw(spec) {
  return new View(parse(compile(spec).spec), { renderer: "none" }).toSVG();
}
