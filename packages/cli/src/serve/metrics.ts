import type { Breaks } from "holdfast/internal";
import { Gauge, Registry } from "prom-client";
import { hasQueue, isPermitKind } from "../output/permits.js";
import type { Row, TableView, Unreadable } from "./view-types.js";

/** The metrics of a table, in the text format of Prometheus. */

// A table has any number of names: further prefixes are counted together.
const MOST_PREFIXES = 50;
const OTHERS = "(others)";

/** The prefix of a name for metrics: the part before the first slash, with the slash. Pure. */
function prefixOf(name: string): string {
  const at = name.indexOf("/");
  // Each half of a pair is printed as the same character, so that two series would have one name.
  return at < 0
    ? ""
    : name
        .slice(0, at + 1)
        .slice(0, 64)
        .replace(/\p{Surrogate}$/u, "");
}

/** One series: the figures of a prefix and a kind. */
export interface Figures {
  readonly prefix: string;
  readonly kind: string;
  held: number;
  silent: number;
  waiting: number;
  oldestHoldS: number;
  longestWaitS: number;
  unreadable: number;
}

/** Counts rows and unreadable records by prefix and kind. Takes breaks. */
export async function figuresOf(
  { rows, unreadable }: Pick<TableView, "rows" | "unreadable">,
  breaks: Breaks,
): Promise<Figures[]> {
  const sizes = new Map<string, number>();
  for (const records of [rows, unreadable]) {
    for (const { name } of records) {
      sizes.set(prefixOf(name), (sizes.get(prefixOf(name)) ?? 0) + 1);
      if (breaks.isDue) await breaks.take();
    }
  }
  // By name among equals, so that a prefix keeps its series from reading to reading.
  const kept = [...sizes]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, MOST_PREFIXES)
    .map(([prefix]) => prefix);
  const known = new Set(kept);
  const series = new Map<string, Figures>();
  const seriesOf = ({ kind, name }: Row | Unreadable): Figures => {
    const prefix = known.has(prefixOf(name)) ? prefixOf(name) : OTHERS;
    const key = `${kind} ${prefix}`;
    const found = series.get(key) ?? emptyFigures(prefix, kind);
    series.set(key, found);
    return found;
  };
  for (const row of rows) {
    count(seriesOf(row), row);
    if (breaks.isDue) await breaks.take();
  }
  for (const record of unreadable) seriesOf(record).unreadable += 1;
  return [...series.values()];
}

function emptyFigures(prefix: string, kind: string): Figures {
  const none = { held: 0, silent: 0, waiting: 0, oldestHoldS: 0, longestWaitS: 0 };
  return { prefix, kind, ...none, unreadable: 0 };
}

function count(figures: Figures, row: Row): void {
  figures.waiting += row.waiters;
  figures.longestWaitS = Math.max(figures.longestWaitS, (row.longestWaitMs ?? 0) / 1_000);
  if (row.state === "free") return;
  figures.held += 1;
  figures.silent += row.permits?.silent ?? (row.state === "held" ? 0 : 1);
  figures.oldestHoldS = Math.max(figures.oldestHoldS, (row.heldForMs ?? 0) / 1_000);
}

/** The facts of the server beside the view. */
interface ServerFacts {
  readonly isUp: boolean;
  readonly ageS: number | undefined;
  readonly totalUnits: number;
}

/** Formats the figures. */
export async function metricsText(
  figures: readonly Figures[] | undefined,
  facts: ServerFacts,
): Promise<{ readonly text: string; readonly type: string }> {
  const registry = new Registry();
  const gauge = (name: string, help: string, value: number | undefined): void => {
    // A gauge without a value would be 0.
    if (value === undefined) return;
    new Gauge({ name: `holdfast_${name}`, help, registers: [registry] }).set(value);
  };
  gauge("up", "1 if the last reading of the table succeeded.", facts.isUp ? 1 : 0);
  gauge("reading_age_seconds", "The age of the reading behind these figures.", facts.ageS);
  gauge("read_units", "Read units since the start of the server.", facts.totalUnits);
  const all = figures ?? [];
  const labelNames = ["prefix", "kind"];
  for (const [name, help, key] of GAUGES) {
    const made = new Gauge({ name: `holdfast_${name}`, help, labelNames, registers: [registry] });
    for (const one of all) {
      // A permit in a record has no time of its grant, and candidates have no queue: no series says more than zeros.
      if (key === "oldestHoldS" && isPermitKind(one.kind)) continue;
      if ((key === "waiting" || key === "longestWaitS") && !hasQueue(one.kind)) continue;
      made.set({ prefix: one.prefix, kind: one.kind }, one[key]);
    }
  }
  return { text: await registry.metrics(), type: registry.contentType };
}

const GAUGES = [
  ["held", "Records with a holder.", "held"],
  ["silent", "Holders without a sign of life for longer than their lease.", "silent"],
  ["waiting", "Places in queues.", "waiting"],
  ["oldest_hold_seconds", "How long the oldest grant has lasted.", "oldestHoldS"],
  ["longest_wait_seconds", "How long the longest wait has lasted.", "longestWaitS"],
  ["unreadable", "Records that this version cannot read.", "unreadable"],
] as const;
