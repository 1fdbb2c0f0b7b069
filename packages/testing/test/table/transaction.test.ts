import { describe, expect, it } from "vitest";
import type { Write } from "../../../holdfast/src/platform/table.js";
import { MemoryTable } from "../../src/table/memory-table.js";

const write = (name: string, condition: "absent" | "present" = "absent"): Write => ({
  key: { pk: { S: name } },
  condition: { kind: condition, attribute: "pk" },
  change: { set: { n: { incrementFrom: "0" } }, remove: [] },
});

describe("a transaction on MemoryTable", () => {
  it("is misconfigured if too long, empty, without a token, or with the same item twice", () => {
    const table = new MemoryTable();
    const many = Array.from({ length: 101 }, (_, index) => write(`${index}`));
    for (const writes of [[], many, [write("a"), write("a")]]) {
      expect(table.applyAll({ writes, token: "t" }).kind).toBe("misconfigured");
    }
    for (const token of ["", "t".repeat(37)]) {
      expect(table.applyAll({ writes: [write("a")], token }).kind).toBe("misconfigured");
    }
    expect(table.items()).toEqual([]);
  });

  it("costs twice as much as separate writes, also when refused", () => {
    const table = new MemoryTable();
    table.applyAll({ writes: [write("a"), write("b")], token: "1" });
    expect(table.counts).toMatchObject({ transactions: 1, writes: 0, writeUnits: 4 });
    table.applyAll({ writes: [write("a"), write("c")], token: "2" });
    expect(table.counts).toMatchObject({ transactions: 2, writes: 0, writeUnits: 8 });
  });

  it("changes all items before the first onChange callback", () => {
    const seen: number[] = [];
    const table: MemoryTable = new MemoryTable({ onChange: () => seen.push(table.items().length) });
    table.applyAll({ writes: [write("a"), write("b"), write("c")], token: "1" });
    expect(seen).toEqual([3, 3, 3]);
  });

  it("remembers its token for ten minutes, unless refused", () => {
    const time = { nowMs: 0 };
    const table = new MemoryTable({ time });
    const again = () => table.applyAll({ writes: [write("a", "present")], token: "1" }).kind;
    expect(again()).toBe("refused");
    table.applyAll({ writes: [write("a")], token: "2" });
    expect(again()).toBe("applied");
    time.nowMs = 599_999;
    expect(again()).toBe("applied");
    expect(table.item({ pk: { S: "a" } })?.["n"]).toEqual({ N: "2" });
    time.nowMs = 600_000;
    expect(again()).toBe("applied");
    expect(table.item({ pk: { S: "a" } })?.["n"]).toEqual({ N: "3" });
  });
});
