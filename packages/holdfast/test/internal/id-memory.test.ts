import { describe, expect, it } from "vitest";
import { IdMemory } from "../../src/internal/id-memory.js";

describe("IdMemory", () => {
  it("knows only the added ids", () => {
    const memory = new IdMemory(3);
    expect(memory.has("a")).toBe(false);
    memory.add("a");
    expect(memory.has("a")).toBe(true);
    expect(memory.has("b")).toBe(false);
  });

  it("forgets the oldest ids beyond the bound", () => {
    const memory = new IdMemory(3);
    for (const id of ["a", "b", "c", "d"]) memory.add(id);
    expect(["a", "b", "c", "d"].map((id) => memory.has(id))).toEqual([false, true, true, true]);
  });

  it("treats an id added again as new, and counts the id once", () => {
    const memory = new IdMemory(3);
    for (const id of ["a", "b", "c", "a", "a", "d"]) memory.add(id);
    expect(["a", "b", "c", "d"].map((id) => memory.has(id))).toEqual([true, false, true, true]);
  });

  it("takes no longer for an id beyond the bound than for one below it", () => {
    const most = 100_000;
    const memory = new IdMemory(most);
    // Time of the processor: a busy machine does not count.
    const msFor = (round: number): number => {
      const fromCpu = process.cpuUsage();
      for (let at = 0; at < most; at += 1) memory.add(`id ${round} ${at}`);
      const { user, system } = process.cpuUsage(fromCpu);
      return (user + system) / 1_000;
    };
    const belowMs = msFor(0);
    expect(msFor(1)).toBeLessThan(20 * belowMs);
  });
});
