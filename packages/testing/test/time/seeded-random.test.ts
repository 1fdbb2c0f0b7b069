import { describe, expect, it } from "vitest";
import { seededRandom } from "../../src/time/seeded-random.js";

describe("seededRandom", () => {
  it("repeats its draws for the same seed only", () => {
    const draws = (seed: number): number[] => {
      const random = seededRandom(seed);
      return Array.from({ length: 20 }, () => random.fraction());
    };
    expect(draws(1)).toEqual(draws(1));
    expect(draws(1)).not.toEqual(draws(2));
    expect(draws(1)).not.toEqual(draws(1 + 2 ** 32));
    expect(() => seededRandom(1.5)).toThrow("seed");
  });

  it("is evenly distributed", () => {
    const random = seededRandom(3);
    const buckets = Array.from({ length: 10 }, () => 0);
    for (let n = 0; n < 100_000; n += 1) {
      const bucket = Math.floor(random.fraction() * 10);
      buckets[bucket] = (buckets[bucket] ?? Number.NaN) + 1;
    }
    for (const count of buckets) expect(Math.abs(count - 10_000)).toBeLessThan(500);
  });

  it("makes unique ids in the form of UUIDs, across seeds and forks", () => {
    const ids = new Set<string>();
    const sources = [0, 1, 2, 3].map(seededRandom);
    const all = sources.flatMap((source) => [source, source.fork()]);
    for (const source of all) for (let n = 0; n < 5000; n += 1) ids.add(source.id());
    expect(ids.size).toBe(all.length * 5000);
    const first = seededRandom(254);
    expect([first.id().slice(0, 18), first.id().slice(0, 18)]).toEqual([
      "000000fe-0000-4001",
      "000000fe-0000-4002",
    ]);
    const shape = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/;
    expect([...ids].filter((id) => !shape.test(id))).toEqual([]);
  });

  it("makes forks that are independent of later draws", () => {
    const one = seededRandom(5);
    const fork = one.fork();
    const first = fork.fraction();
    const other = seededRandom(5);
    const otherFork = other.fork();
    other.fraction();
    expect(otherFork.fraction()).toBe(first);
  });

  it("draws whole numbers including both ends", () => {
    const random = seededRandom(9);
    const drawn = new Set(Array.from({ length: 200 }, () => random.integer(1, 3)));
    expect([...drawn].sort()).toEqual([1, 2, 3]);
  });
});
