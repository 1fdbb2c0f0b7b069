import { describe, expect, it } from "vitest";
import { checkRun, historyOf } from "../../verification/chaos/checks.js";
import { inOrder, type Span } from "../../verification/chaos/order.js";
import type { Event } from "../../verification/sim/history.js";

const span = (from: number, to: number, event: Event): Span => ({ from, to, atMs: to, event });
const acted = (at: number, by: string, fence: bigint): Span =>
  span(at, at, { kind: "acted", by, name: "a", fence });
const granted = (at: number, by: string, fence: bigint): Span =>
  span(at, at, { kind: "granted", by, name: "a", fence });
const record = (from: number, to: number, fence: bigint, holder = `h${fence}`): Span =>
  span(from, to, { kind: "record", by: "p1", name: "a", fence, holder });
const guarded = (from: number, to: number, fence: bigint): Span =>
  span(from, to, { kind: "guarded", by: "p1", name: "a", fence, isApplied: true });

const broken = (spans: readonly Span[]): string[] => [
  ...new Set(checkRun(spans, []).map(({ invariant }) => invariant)),
];

describe("the order of spans", () => {
  it("respects spans which ended before, and puts lower fences first among overlapping spans", () => {
    const [late, early, within] = [record(4, 9, 7n), record(1, 5, 8n), record(6, 7, 9n)];
    const fences = inOrder([within, late, early]).map((event) => "fence" in event && event.fence);
    expect(fences).toEqual([7n, 8n, 9n]);
    const apart = inOrder([record(6, 9, 7n), record(1, 5, 8n)]);
    expect(apart.map((event) => "fence" in event && event.fence)).toEqual([8n, 7n]);
  });

  it("keeps every overlapping span exactly once", () => {
    const spans = Array.from({ length: 200 }, (_, index) =>
      record((index * 7) % 50, 50 + ((index * 13) % 150), BigInt((index * 31) % 200)),
    );
    const fences = inOrder(spans).map((event) => ("fence" in event ? event.fence : -1n));
    expect(fences).toEqual([...fences].sort((a, b) => (a < b ? -1 : 1)));
    expect(new Set(fences).size).toBe(200);
  });
});

describe("a history with late messages accuses no process", () => {
  const cases: readonly (readonly [string, readonly Span[]])[] = [
    ["a holder's check before the next grant was known", [acted(2, "p1", 1n), record(1, 3, 2n)]],
    ["crossing answers of the table", [record(1, 4, 2n), record(2, 3, 1n)]],
    ["a conditional write in flight during the next grant", [record(1, 3, 2n), guarded(2, 9, 1n)]],
    ["an act of a new holder before the table's answer", [acted(3, "p2", 2n), record(1, 9, 2n)]],
  ];
  it.each(cases)("%s", (_, spans) => {
    expect(broken(spans)).toEqual([]);
  });
});

it("answers about a different name accuse no process", () => {
  const other: Event = { kind: "record", by: "p1", name: "b", fence: 9n, holder: "h" };
  expect(broken([record(1, 10, 5n), span(2, 3, other), acted(4, "p1", 4n)])).toEqual([]);
});

describe("a bad history is refused", () => {
  const cases: readonly (readonly [string, string, readonly Span[]])[] = [
    ["exclusion", "an old holder acts", [granted(1, "p2", 2n), acted(2, "p1", 1n)]],
    [
      "belief",
      "a former holder believes, without an act of the new holder",
      [record(1, 3, 2n), acted(4, "p1", 1n)],
    ],
    ["fence order", "a fence goes back", [record(1, 3, 2n), record(4, 9, 1n)]],
    ["fence order", "two holders under one fence", [record(1, 3, 2n, "x"), record(4, 9, 2n, "y")]],
    ["guarded writes", "a former holder writes", [record(1, 3, 2n), guarded(4, 9, 1n)]],
    [
      "lost is final",
      "a holder acts after the loss of its lease",
      [
        span(1, 1, { kind: "lost", by: "p1", name: "a", fence: 1n, reason: "expired" }),
        acted(2, "p1", 1n),
      ],
    ],
  ];
  it.each(cases)("%s: %s", (invariant, _, spans) => {
    expect(broken(spans)).toEqual([invariant]);
  });
});

describe("a ledger", () => {
  const ledger = (...fences: readonly bigint[]) => ({
    name: "a",
    key: "ledger#a#0",
    entries: fences.map((fence, at) => ({ by: `p${fence}`, fence, text: `${fence} p ${at}` })),
  });

  it("passes when its fences never go back", () => {
    expect(historyOf(ledger(1n, 1n, 2n, 5n)).length).toBe(3 + 4);
    expect(checkRun([], [ledger(1n, 1n, 2n, 5n)])).toEqual([]);
  });

  it("fails with an entry of a former holder, without any clock", () => {
    const violations = checkRun([], [ledger(1n, 2n, 1n)]);
    expect(violations.map(({ invariant }) => invariant)).toEqual(["guarded writes"]);
  });
});
