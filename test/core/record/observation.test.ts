import { describe, expect, it } from "vitest";
import {
  type Consistency,
  type Observation,
  Observations,
  observe,
} from "../../../src/core/record/observation.js";
import type {
  FreeRecord,
  HeldRecord,
  LeaseRecord,
  Version,
} from "../../../src/core/record/record.js";

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
const free = (fence: bigint, version = 1n): FreeRecord => ({
  state: "free",
  ...known(fence, version),
});
const held = (holder: string, fence: bigint, version: Version): HeldRecord => ({
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
  strength: Consistency,
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
    let seen: Observation = earlier(held("a", 7n, 5n));
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
    expect(observations.of("one")).toMatchObject({ record: { holder: "a" }, sinceMs: 10 });
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

  it("is bounded to 100 MB: it forgets the names that it has not met for longest", () => {
    const observations = new Observations();
    // Each takes 100,000 bytes: 1,000 besides its name of 49,500 characters.
    const name = (index: number): string => `${index}`.padEnd(49_490, "-").concat("0123456789");
    const bare: LeaseRecord = { state: "absent" };
    for (let index = 0; index < 1_000; index += 1)
      observations.see(name(index), bare, "strong", index);
    expect(observations.bytes).toBeGreaterThan(99_900_000);
    expect(observations.bytes).toBeLessThanOrEqual(100_100_000);
    observations.see(name(2), bare, "strong", 2_000);
    for (let index = 0; index < 5; index += 1) observations.seeRival(name(10_000 + index));
    expect(observations.bytes).toBeLessThanOrEqual(100_000_000);
    expect(observations.of(name(2))?.sinceMs).toBe(2);
    expect([name(0), name(1), name(3), name(4)].map((id) => observations.of(id))).toEqual(
      Array(4).fill(undefined),
    );
    expect(observations.of(name(999))).toBeDefined();
  });

  it("is bounded to fewer than a hundred thousand names", () => {
    const observations = new Observations();
    for (let index = 0; index < 100_000; index += 1) {
      observations.see(`name ${index}`, absent, "strong", index);
    }
    expect(observations.bytes).toBeLessThanOrEqual(100_000_000);
    expect(observations.of("name 0")).toBeUndefined();
    expect(observations.of("name 99999")).toBeDefined();
  });

  it("is what decisions rest on, without user data, and with labels that are cut", () => {
    const observations = new Observations();
    const long = "x".repeat(100_000);
    const forced = { holder: "z", by: long, reason: long, at: long, now: false };
    const further = { data: { long }, attributes: { long: { S: long } }, asked: [long], forced };
    for (const record of [a3, free(8n)]) {
      observations.see(
        "one",
        { ...record, owner: long, acquiredAt: long, ...further },
        "strong",
        1,
      );
      expect(observations.bytes).toBeLessThan(10_000);
      const seen = observations.of("one")?.record;
      expect(seen).toMatchObject({
        owner: "x".repeat(100),
        forced: { by: "x".repeat(1_000), reason: "x".repeat(1_000), at: "x".repeat(100) },
      });
      for (const left of ["data", "attributes", "asked", "acquiredAt"]) {
        expect(seen).not.toHaveProperty(left);
      }
    }
  });

  it("says of a record all that is decided by, as it was", () => {
    const observations = new Observations();
    const record = {
      ...held("a", 7n, "v"),
      queue: { tail: 3n, served: 2n },
      lastHolder: "z",
      owner: "me",
      preferAsked: "p",
      notBeforeWallMs: 5,
      session: "s",
      forced: { holder: "z", by: "b", reason: "r".repeat(1_000), at: "t", now: true },
    } as const;
    observations.see("one", record, "strong", 1);
    const { acquiredAt, data, mark, dataSeq, ...decisive } = record;
    expect(observations.of("one")?.record).toEqual(decisive);
  });

  it("counts what each name takes once, however often it is met", () => {
    const observations = new Observations();
    for (const owner of ["a", "a".repeat(50), "a"]) {
      observations.see("one", { ...a3, owner }, "strong", 1);
      observations.see("two", absent, "strong", 1);
    }
    // Their own 1,000 each, two bytes for each character of the names, the state, the holder and the owner.
    expect(observations.bytes).toBe(2_000 + 2 * (3 + 3 + "held".length + 1 + 1 + "absent".length));
  });
});
