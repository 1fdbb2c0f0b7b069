import { describe, expect, it } from "vitest";
import { Observations, observe, type Strength } from "../../src/lease/observation.js";
import type { LeaseRecord, Version } from "../../src/lease/record.js";

const known = (fence: bigint, version: Version) => ({
  fence,
  version,
  queue: { tail: undefined, served: undefined },
  lastHolder: undefined,
  owner: undefined,
  acquiredAt: undefined,
  data: undefined,
});

const absent: LeaseRecord = { state: "absent" };
const free = (fence: bigint, version = 1n): LeaseRecord => ({
  state: "free",
  ...known(fence, version),
});
const held = (holder: string, fence: bigint, version: Version): LeaseRecord => ({
  state: "held",
  ...known(fence, version),
  holder,
  leaseMs: 1_000,
  session: undefined,
  mark: undefined,
  dataSeq: 0,
});

const earlier = (record: LeaseRecord) => ({ record, sinceMs: 10 });

type Row = [
  title: string,
  before: LeaseRecord,
  now: LeaseRecord,
  strength: Strength,
  expected: "goes on" | "begins anew" | "is ignored",
];

const a3 = held("a", 7n, 3n);

const ROWS: readonly Row[] = [
  ["the same holder and version", a3, held("a", 7n, 3n), "strong", "goes on"],
  ["the same holder and version, eventually", a3, held("a", 7n, 3n), "eventual", "goes on"],
  ["a higher version", a3, held("a", 7n, 4n), "strong", "begins anew"],
  ["a higher version, eventually", a3, held("a", 7n, 4n), "eventual", "begins anew"],
  ["a lower version, eventually", a3, held("a", 7n, 2n), "eventual", "is ignored"],
  ["a lower version, strongly", a3, held("a", 7n, 2n), "strong", "begins anew"],
  ["another holder under the same version", a3, held("b", 8n, 3n), "eventual", "begins anew"],
  ["another holder under a lower version", a3, held("b", 8n, 1n), "eventual", "begins anew"],
  ["a lower fence, eventually", a3, held("b", 6n, 9n), "eventual", "is ignored"],
  ["a lower fence, strongly: made anew", a3, held("b", 6n, 1n), "strong", "begins anew"],
  ["free under the same fence", a3, free(7n, 3n), "eventual", "begins anew"],
  ["free under a lower version, eventually", a3, free(7n, 2n), "eventual", "begins anew"],
  ["free under a lower fence, eventually", a3, free(6n), "eventual", "is ignored"],
  ["free under a lower fence, strongly", a3, free(6n), "strong", "begins anew"],
  ["held again under the fence that was freed, eventually", free(7n), a3, "eventual", "is ignored"],
  ["held again under the fence that was freed, strongly", free(7n), a3, "strong", "begins anew"],
  ["held under the next fence", free(7n), held("b", 8n, 4n), "eventual", "begins anew"],
  ["free and free", free(7n), free(7n), "eventual", "begins anew"],
  ["a version without an order", held("a", 0n, "b"), held("a", 0n, "a"), "eventual", "begins anew"],
  ["one after a number", a3, held("a", 7n, "2"), "eventual", "begins anew"],
  ["a number after one", held("a", 7n, "3"), held("a", 7n, 2n), "eventual", "begins anew"],
  ["absent after held, strongly", a3, absent, "strong", "begins anew"],
  ["held after absent, eventually", absent, a3, "eventual", "begins anew"],
  ["absent and absent", absent, absent, "strong", "goes on"],
];

describe("the watch of a record", () => {
  it.each(ROWS)("%s", (_title, previous, now, strength, expected) => {
    const after = observe(earlier(previous), now, strength, 500);
    expect(after.record).toBe(expected === "is ignored" ? previous : now);
    expect(after).toEqual(
      {
        "goes on": { record: now, sinceMs: 10 },
        "begins anew": { record: now, sinceMs: 500 },
        "is ignored": earlier(previous),
      }[expected],
    );
  });

  it("begins with the first reading", () => {
    expect(observe(undefined, a3, "eventual", 5)).toEqual({ record: a3, sinceMs: 5 });
  });

  it("does not begin anew when a lagging replica goes back and forth", () => {
    let seen = earlier(held("a", 7n, 5n));
    for (const [version, atMs] of [
      [4n, 20],
      [5n, 30],
      [3n, 40],
      [5n, 50],
    ] as const) {
      seen = { ...observe(seen, held("a", 7n, version), "eventual", atMs) };
    }
    expect(seen.sinceMs).toBe(10);
  });
});

describe("what a client remembers of the records it met", () => {
  it("is one observation for each name, across calls", () => {
    const observations = new Observations();
    observations.see("one", a3, "strong", 10);
    observations.see("two", absent, "strong", 20);
    observations.see("one", a3, "eventual", 30);
    expect(observations.of("one")).toEqual({ record: a3, sinceMs: 10 });
    expect(observations.of("two")?.sinceMs).toBe(20);
    expect(observations.of("three")).toBeUndefined();
  });

  it("keeps the highest fence, though the record has gone or was made anew", () => {
    const observations = new Observations();
    expect(observations.highestFence("one")).toBe(0n);
    observations.see("one", a3, "strong", 10);
    observations.see("one", absent, "strong", 20);
    observations.see("one", held("b", 2n, 1n), "strong", 30);
    expect(observations.highestFence("one")).toBe(7n);
    expect(observations.of("one")?.record).toMatchObject({ holder: "b" });
  });

  it("stands back once after a release, and only if a rival was seen", () => {
    const observations = new Observations();
    observations.freed("one", 10);
    expect(observations.takeStandBack("one")).toBeUndefined();
    observations.seeRival("one");
    expect(observations.takeStandBack("one")).toBeUndefined();
    observations.freed("one", 20);
    expect(observations.takeStandBack("one")).toBe(20);
    expect(observations.takeStandBack("one")).toBeUndefined();
    observations.freed("one", 30);
    expect(observations.takeStandBack("one")).toBeUndefined();
    expect(observations.takeStandBack("never met")).toBeUndefined();
  });

  it("is bounded: of a hundred thousand names and more it forgets those not met for longest", () => {
    const observations = new Observations();
    for (let index = 0; index < 100_000; index += 1) {
      observations.see(`name ${index}`, a3, "strong", index);
    }
    observations.see("name 0", a3, "strong", 200_000);
    observations.see("one more", a3, "strong", 200_001);
    expect(observations.of("name 0")?.sinceMs).toBe(0);
    expect(observations.of("name 1")).toBeUndefined();
    expect(observations.of("name 2")).toBeDefined();
  });
});
