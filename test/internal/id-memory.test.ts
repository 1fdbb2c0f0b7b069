import { describe, expect, it } from "vitest";
import { IdMemory } from "../../src/internal/id-memory.js";

describe("a memory of ids", () => {
  it("knows what was added, and nothing else", () => {
    const memory = new IdMemory(3);
    expect(memory.has("a")).toBe(false);
    memory.add("a");
    expect(memory.has("a")).toBe(true);
    expect(memory.has("b")).toBe(false);
  });

  it("forgets the oldest beyond its bound", () => {
    const memory = new IdMemory(3);
    for (const id of ["a", "b", "c", "d"]) memory.add(id);
    expect(["a", "b", "c", "d"].map((id) => memory.has(id))).toEqual([false, true, true, true]);
  });

  it("counts an id that is added again as new, and once", () => {
    const memory = new IdMemory(3);
    for (const id of ["a", "b", "c", "a", "a", "d"]) memory.add(id);
    expect(["a", "b", "c", "d"].map((id) => memory.has(id))).toEqual([true, false, true, true]);
  });
});
