import { describe, expect, it } from "vitest";
import { checkLedger, type Entry } from "../src/demo/ledger.js";

/** Ledger lines from a short notation: worker, fence and time. */
function ledger(
  ...lines: readonly (readonly [worker: string, fence: number, ns: number])[]
): string {
  const entries = lines.map(
    ([worker, fence, ns]): Entry => ({
      name: "a",
      fence: String(fence),
      worker,
      pid: worker.length,
      monotonicNs: String(ns),
      at: "2026-01-01T00:00:00.000Z",
    }),
  );
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

describe("the ledger check of the demo", () => {
  it("accepts an orderly ledger", () => {
    const text = ledger(["w1", 1, 10], ["w1", 1, 20], ["w2", 5, 30], ["w1", 6, 40]);
    expect(checkLedger(text)).toEqual({ entries: 4, grants: 3, workers: 2, problems: [] });
  });

  it.each([
    [
      "a former holder that writes late",
      [
        ["w1", 1, 10],
        ["w2", 2, 20],
        ["w1", 1, 30],
      ],
    ],
    [
      "a fence that two have",
      [
        ["w1", 1, 10],
        ["w2", 1, 20],
      ],
    ],
    [
      "a grant that is torn apart",
      [
        ["w2", 2, 10],
        ["w1", 1, 20],
        ["w2", 2, 30],
      ],
    ],
    [
      "holds that overlap in time",
      [
        ["w1", 1, 10],
        ["w1", 1, 30],
        ["w2", 2, 20],
      ],
    ],
    [
      "a time that goes back",
      [
        ["w1", 1, 20],
        ["w1", 1, 10],
      ],
    ],
  ] as const)("finds %s", (_what, lines) => {
    expect(checkLedger(ledger(...lines)).problems).not.toEqual([]);
  });

  it("checks each lock's lines separately", () => {
    const other = ledger(["w2", 1, 15]).replace('"name":"a"', '"name":"b"');
    expect(checkLedger(ledger(["w1", 7, 10]) + other).problems).toEqual([]);
  });
});
