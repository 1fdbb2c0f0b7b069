import { describe, expect, it } from "vitest";
import { KINDS } from "../../verification/exhaustive/kinds.js";
import { nameOf, placementOf } from "../../verification/exhaustive/placement.js";
import { run } from "../../verification/exhaustive/run.js";
import { type Depth, type Found, found, searchAll } from "../../verification/exhaustive/search.js";

/** Runs every placement of one fault, some at a time. */
async function searched(kind: (typeof KINDS)[number]["name"]): Promise<Found[]> {
  const all: Found[] = [];
  await searchAll([kind], { faults: 1, isWhole: false }, async (placements, onFound) => {
    const left = [...placements];
    const work = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const one = await found(next);
        all.push(one);
        onFound(one);
      }
    };
    await Promise.all(Array.from({ length: 20 }, work));
  });
  return all;
}

describe("every placement of one fault", () => {
  it.each(KINDS)(
    "keeps every invariant and bound: $name",
    async ({ name }) => {
      const all = await searched(name);
      const bad = all.filter(({ violations }) => violations.length > 0);
      const first = bad.map(({ placement, violations }) => [nameOf(placement), violations[0]]);
      expect(first.slice(0, 3)).toEqual([]);
      expect(all.length).toBeGreaterThan(100);
    },
    300_000,
  );

  it("is run once by all parts of a search together", async () => {
    const namesOf = async (part: Depth["part"]): Promise<string[]> => {
      const names: string[] = [];
      const depth = { faults: 1, isWhole: false, ...(part === undefined ? {} : { part }) };
      await searchAll(["mutex"], depth, async (placements, onFound) => {
        names.push(...placements.map(nameOf));
        if (names.length === 1) onFound(await found(placementOf("mutex: none")));
      });
      return names.slice(1);
    };
    const all = await namesOf(undefined);
    const parts = await Promise.all([0, 1, 2].map((from) => namesOf({ from, of: 3 })));
    expect(parts.flat().sort()).toEqual(all.toSorted());
    expect(Math.min(...parts.map(({ length }) => length))).toBeGreaterThan(all.length / 4);
  });

  it("is run again by its name", async () => {
    const name = "mutex: a1 answer-lost, b3 dies";
    expect(nameOf(placementOf(name))).toBe(name);
    const [one, other] = [await run(placementOf(name)), await run(placementOf(name))];
    expect(one.hash).toBe(other.hash);
    expect(one.history.some(({ kind, by }) => kind === "process" && by === "b")).toBe(true);
    expect((await run(placementOf("mutex: none"))).hash).not.toBe(one.hash);
  });

  it("is refused if its name is none, or its fault never happens", async () => {
    expect(() => placementOf("mutex: a1 unheard-of")).toThrow("unheard-of");
    expect(() => placementOf("nothing")).toThrow("is no placement");
    await expect(run(placementOf("mutex: a99 lost"))).rejects.toThrow("never happens");
  });
});
