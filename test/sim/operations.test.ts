import { describe, expect, it } from "vitest";
import { operationsOf, spansOf } from "../../verification/histories/operations.js";
import type { Timed } from "../../verification/sim/history.js";

const of = { by: "p1", name: "a", fence: 1n, atMs: 0 } as const;

const HISTORY: readonly Timed[] = [
  { kind: "waits", by: "p1", name: "a", atMs: 0 },
  { ...of, kind: "record", holder: "h" },
  { ...of, kind: "granted", waited: true },
  { ...of, kind: "acted" },
  { ...of, kind: "released" },
  { kind: "waits", by: "p2", name: "a", atMs: 0 },
];

describe("the operations of a history", () => {
  it("have their calls and returns in the order of the events", () => {
    const operations = operationsOf({ spans: spansOf(HISTORY) });
    expect(operations.map(({ op, call, return: end }) => [op, call, end])).toEqual([
      ["acquire", 0, 5],
      ["record", 2, 3],
      ["held", 6, 7],
      ["release", 8, 9],
      ["acquire", 10, undefined],
    ]);
  });

  it("have an unknown outcome if no event ends them", () => {
    expect(operationsOf({ spans: spansOf(HISTORY) }).at(-1)?.outcome).toBe("unknown");
    const attempts = new Map([["1 p1 1", { name: "a", fence: 1n, by: "p1", from: 4 }]]);
    const writes = operationsOf({ spans: [], attempts }).filter(({ op }) => op === "write");
    expect(writes.map(({ outcome, fence }) => [outcome, fence])).toEqual([["unknown", "1"]]);
  });

  it("say which write a guarded write replaced, by the list in the table", () => {
    const entries = ["1 p1 1", "1 p1 2"].map((text) => ({ by: "p1", fence: 1n, text }));
    const spans = [0, 1].map((at) => ({
      from: at,
      to: at,
      atMs: at,
      event: { ...of, kind: "guarded", isApplied: true, entry: entries[at]?.text ?? "" } as const,
    }));
    const operations = operationsOf({ spans, ledgers: [{ name: "a", key: "ledger#a", entries }] });
    expect(operations.map(({ op, from, to }) => [op, from, to])).toEqual([
      ["write", "", "1 p1 1"],
      ["write", "1 p1 1", "1 p1 2"],
      ["read", undefined, "1 p1 2"],
    ]);
  });
});
