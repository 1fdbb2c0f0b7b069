import { describe, expect, it } from "vitest";
import { seededRandom } from "../../packages/testing/src/time/seeded-random.js";
import { DataOfLease } from "../../verification/exhaustive/data.js";
import { KINDS, type KindName } from "../../verification/exhaustive/kinds.js";
import { nameOf, placementOf } from "../../verification/exhaustive/placement.js";
import { run } from "../../verification/exhaustive/run.js";
import {
  type Found,
  found,
  type Share,
  searchAll,
  walkAll,
} from "../../verification/exhaustive/search.js";

/** Runs every placement of one fault, some at a time. */
async function searched(kind: (typeof KINDS)[number]["name"]): Promise<Found[]> {
  const all: Found[] = [];
  await searchAll([kind], { faults: 1, isWhole: false }, async (placements, isLast, onFound) => {
    const left = [...placements];
    const work = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const one = await found(next, isLast);
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

  it("is in one of the parts of a search, which together run every one", async () => {
    /** The names of all placements of a search in which every run is distinct. */
    const names = async (share?: Share): Promise<string[]> => {
      const run: string[] = [];
      await searchAll(
        ["mutex"],
        { faults: 3, isWhole: false, ...(share && { share }) },
        (all, _, on) => {
          for (const placement of all) {
            const hash = nameOf(placement);
            run.push(hash);
            const { length } = placement.placed;
            const later = ["a", "b"].map((by) => ({
              point: `${by}${length + 1}`,
              choices: ["lost", "throttled", "dies"],
            }));
            const costs = { endMs: 0, requests: 0 };
            on({ placement, violations: [], hash, depth: length, later, costs });
          }
          return Promise.resolve();
        },
      );
      return run;
    };
    const all = await names();
    const parts = await Promise.all([1, 2, 3, 4].map((part) => names({ part, of: 4 })));
    const isDeep = (name: string): boolean => name.split(",").length > 1;
    expect(parts.flat().filter(isDeep).sort()).toEqual(all.filter(isDeep).sort());
    expect(all).toHaveLength(1 + 6 + 36 + 216);
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(all.length / 2);
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

describe("random programs", () => {
  const names = Array.from({ length: 60 }, (_, at): KindName => `program-${at}`);

  it("keep every invariant, with random placements of faults", async () => {
    const all: Found[] = [];
    const random = seededRandom(1);
    await walkAll(names, { faults: 3, walks: 2 }, random, async (placements, isLast, onFound) => {
      for (const placement of placements) {
        const one = await found(placement, isLast);
        all.push(one);
        onFound(one);
      }
    });
    const bad = all.filter(({ violations }) => violations.length > 0);
    const first = bad.map(({ placement, violations }) => [nameOf(placement), violations[0]]);
    expect(first.slice(0, 3)).toEqual([]);
    expect(all.length).toBeGreaterThan(300);
  }, 300_000);

  it("find data that a lease does not have", async () => {
    const data = new DataOfLease("granted");
    let answer = (): void => undefined;
    const first = data.written("first", () => new Promise((resolve) => (answer = resolve)));
    expect(data.mayBe("granted")).toBe(true);
    expect(data.mayBe("first")).toBe(true);
    await data.written("second", () => Promise.resolve());
    expect(data.mayBe("first")).toBe(false);
    answer();
    await first;
    expect(data.mayBe("second")).toBe(true);
    expect(data.mayBe(undefined)).toBe(false);
  });

  it("do the same in each run", async () => {
    const [one, other] = [
      await run(placementOf("program-7: none")),
      await run(placementOf("program-7: none")),
    ];
    expect(one.hash).toBe(other.hash);
    expect((await run(placementOf("program-8: none"))).hash).not.toBe(one.hash);
  });
});
