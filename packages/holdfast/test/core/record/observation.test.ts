import { describe, expect, it } from "vitest";
import {
  type Consistency,
  type Observation,
  Observations,
  observe,
  withSighting,
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
  expected: "continues" | "restarts" | "is ignored",
];

const a3 = held("a", 7n, 3n);

const ROWS: readonly Row[] = [
  ["the same holder and version", a3, held("a", 7n, 3n), "strong", "continues"],
  ["the same holder and version, eventually", a3, held("a", 7n, 3n), "eventual", "continues"],
  ["a higher version", a3, held("a", 7n, 4n), "strong", "restarts"],
  ["a higher version, eventually", a3, held("a", 7n, 4n), "eventual", "restarts"],
  ["a lower version, eventually", a3, held("a", 7n, 2n), "eventual", "is ignored"],
  ["a lower version, strongly", a3, held("a", 7n, 2n), "strong", "restarts"],
  ["another holder under the same version", a3, held("b", 8n, 3n), "eventual", "restarts"],
  ["another holder under a lower version", a3, held("b", 8n, 1n), "eventual", "restarts"],
  ["a lower fence, eventually", a3, held("b", 6n, 9n), "eventual", "is ignored"],
  ["a lower fence, strongly: created again", a3, held("b", 6n, 1n), "strong", "restarts"],
  ["free under the same fence", a3, free(7n, 3n), "eventual", "restarts"],
  ["free under a lower version, eventually", a3, free(7n, 2n), "eventual", "restarts"],
  ["free under a lower fence, eventually", a3, free(6n), "eventual", "is ignored"],
  ["free under a lower fence, strongly", a3, free(6n), "strong", "restarts"],
  ["held again under the freed fence, eventually", free(7n), a3, "eventual", "is ignored"],
  ["held again under the freed fence, strongly", free(7n), a3, "strong", "restarts"],
  ["held under the next fence", free(7n), held("b", 8n, 4n), "eventual", "restarts"],
  ["free, and free again", free(7n), free(7n), "eventual", "restarts"],
  ["a version without an order", held("a", 0n, "b"), held("a", 0n, "a"), "eventual", "restarts"],
  ["a text version after a number", a3, held("a", 7n, "2"), "eventual", "restarts"],
  ["a number after a text version", held("a", 7n, "3"), held("a", 7n, 2n), "eventual", "restarts"],
  ["absent after held, strongly", a3, absent, "strong", "restarts"],
  ["held after absent, eventually", absent, a3, "eventual", "restarts"],
  ["absent, and absent again", absent, absent, "strong", "continues"],
];

describe("observe", () => {
  it.each(ROWS)("given %s", (_title, previous, now, strength, expected) => {
    const after = observe(earlier(previous), now, strength, 500);
    expect(after.record).toBe(expected === "is ignored" ? previous : now);
    expect(after).toEqual(
      {
        continues: { record: now, sinceMs: 10 },
        restarts: { record: now, sinceMs: 500 },
        "is ignored": { ...earlier(previous), staleSinceMs: 500 },
      }[expected],
    );
  });

  it("starts the watch at the first read", () => {
    expect(observe(undefined, a3, "eventual", 5)).toEqual({ record: a3, sinceMs: 5 });
  });

  it("does not restart the watch when a lagging replica goes back and forth", () => {
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

  it("believes a lower version after ten seconds without another, and begins a new watch", () => {
    const again = held("b", 6n, 1n);
    const read = (seen: Observation, record: LeaseRecord, atMs: number) =>
      observe(seen, record, "eventual", atMs);
    let seen = read(earlier(a3), again, 500);
    // The record as it was ends the count.
    seen = read(seen, a3, 600);
    seen = read(seen, again, 700);
    seen = read(seen, held("b", 6n, 2n), 10_700);
    expect(seen).toEqual({ record: a3, sinceMs: 10, staleSinceMs: 700 });
    expect(read(seen, again, 10_701)).toEqual({ record: again, sinceMs: 10_701 });
  });
});

describe("withSighting", () => {
  const seen = earlier(held("a", 0n, "v"));
  const sighting = { holder: "a", version: "v", leaseMs: 1_000, byMs: 70 };

  it("adds a sighting of the same holder, version and length, and keeps the earliest", () => {
    expect(withSighting(seen, sighting)).toEqual({ ...seen, sightedByMs: 70 });
    expect(withSighting({ ...seen, sightedByMs: 60 }, sighting).sightedByMs).toBe(60);
    expect(withSighting({ ...seen, sightedByMs: 80 }, sighting).sightedByMs).toBe(70);
  });

  it.each([
    ["another holder", { ...sighting, holder: "b" }],
    ["another version", { ...sighting, version: "w" }],
    ["a version of another type", { ...sighting, version: 3n }],
    ["another length", { ...sighting, leaseMs: 2_000 }],
  ])("ignores a sighting of %s", (_title, other) => {
    expect(withSighting(seen, other)).toBe(seen);
  });

  it("ignores a sighting of a record that is no longer held", () => {
    for (const record of [free(7n), absent]) {
      expect(withSighting(earlier(record), sighting)).toEqual(earlier(record));
    }
  });

  it("lasts while the record is unchanged, and ends with any change", () => {
    const known = withSighting(seen, sighting);
    expect(observe(known, held("a", 0n, "v"), "eventual", 500).sightedByMs).toBe(70);
    expect(observe(known, held("a", 0n, "w"), "strong", 500).sightedByMs).toBeUndefined();
    expect(observe(known, held("b", 0n, "v"), "strong", 500).sightedByMs).toBeUndefined();
    expect(observe(known, free(0n), "strong", 500).sightedByMs).toBeUndefined();
  });
});

describe("Observations", () => {
  it("adds a sighting to the record of its name only", () => {
    const observations = new Observations();
    observations.see("one", a3, "strong", 10);
    observations.see("two", a3, "strong", 10);
    const sighting = { holder: "a", version: 3n, leaseMs: 1_000, byMs: 70 };
    observations.change("one", (known) => withSighting(known, sighting));
    observations.change("three", (known) => withSighting(known, sighting));
    expect(observations.of("one")?.sightedByMs).toBe(70);
    expect(observations.of("two")?.sightedByMs).toBeUndefined();
    expect(observations.of("three")).toBeUndefined();
  });

  it("keeps one observation for each name, across calls", () => {
    const observations = new Observations();
    observations.see("one", a3, "strong", 10);
    observations.see("two", absent, "strong", 20);
    observations.see("one", a3, "eventual", 30);
    expect(observations.of("one")).toMatchObject({ record: { holder: "a" }, sinceMs: 10 });
    expect(observations.of("two")?.sinceMs).toBe(20);
    expect(observations.of("three")).toBeUndefined();
  });

  it("keeps the highest fence after the record was deleted or created again", () => {
    const observations = new Observations();
    expect(observations.highestFence("one")).toBe(0n);
    observations.see("one", a3, "strong", 10);
    observations.see("one", absent, "strong", 20);
    observations.see("one", held("b", 2n, 1n), "strong", 30);
    expect(observations.highestFence("one")).toBe(7n);
    expect(observations.of("one")?.record).toMatchObject({ holder: "b" });
  });

  it("stands back once after a release, and only with a known rival", () => {
    const observations = new Observations();
    observations.freed("one", 10);
    expect(observations.takeStandBack("one")).toBeUndefined();
    observations.seeRival("one", 0);
    expect(observations.takeStandBack("one")).toBeUndefined();
    observations.freed("one", 20);
    expect(observations.takeStandBack("one")).toBe(20);
    expect(observations.takeStandBack("one")).toBeUndefined();
    observations.freed("one", 30);
    expect(observations.takeStandBack("one")).toBeUndefined();
    expect(observations.takeStandBack("never met")).toBeUndefined();
  });

  it("uses at most 100 MB, and forgets the least recently used names", () => {
    const observations = new Observations();
    // Each takes 100,000 bytes: 1,000, and a name of 49,500 characters.
    const name = (index: number): string => `${index}`.padEnd(49_490, "-").concat("0123456789");
    const bare: LeaseRecord = { state: "absent" };
    for (let index = 0; index < 1_000; index += 1)
      observations.see(name(index), bare, "strong", index);
    expect(observations.bytes).toBeGreaterThan(99_900_000);
    expect(observations.bytes).toBeLessThanOrEqual(100_100_000);
    observations.see(name(2), bare, "strong", 2_000);
    for (let index = 0; index < 5; index += 1) observations.seeRival(name(10_000 + index), 0);
    expect(observations.bytes).toBeLessThanOrEqual(100_000_000);
    expect(observations.of(name(2))?.sinceMs).toBe(2);
    expect([name(0), name(1), name(3), name(4)].map((id) => observations.of(id))).toEqual(
      Array(4).fill(undefined),
    );
    expect(observations.of(name(999))).toBeDefined();
  });

  it("remembers the names that fill the memory exactly, and a last name of any length", () => {
    const observations = new Observations();
    observations.see("a", absent, "strong", 0);
    // An entry takes twice the length of its name besides.
    const leftBytes = 100_000_000 - 2 * observations.bytes + 2;
    const last = "x".repeat(leftBytes / 2);
    observations.see(last, absent, "strong", 1);
    expect(observations.bytes).toBe(100_000_000);
    expect(observations.of("a")).toBeDefined();
    const tooLong = `${last}xx`;
    observations.see(tooLong, absent, "strong", 2);
    expect(observations.of("a")).toBeUndefined();
    expect(observations.of(last)).toBeUndefined();
    expect(observations.of(tooLong)).toBeDefined();
    const alone = "y".repeat(50_000_000);
    observations.see(alone, absent, "strong", 3);
    expect(observations.of(alone)).toBeDefined();
  });

  it("remembers fewer than a hundred thousand names", () => {
    const observations = new Observations();
    for (let index = 0; index < 100_000; index += 1) {
      observations.see(`name ${index}`, absent, "strong", index);
    }
    expect(observations.bytes).toBeLessThanOrEqual(100_000_000);
    expect(observations.of("name 0")).toBeUndefined();
    expect(observations.of("name 99999")).toBeDefined();
  });

  it("takes no longer for a name once the memory is full", () => {
    const observations = new Observations();
    // Time of the processor: a busy machine does not count.
    const msFor = (names: number, from: number): number => {
      const fromCpu = process.cpuUsage();
      for (let at = from; at < from + names; at += 1)
        observations.see(`${at}`, absent, "strong", at);
      const { user, system } = process.cpuUsage(fromCpu);
      return (user + system) / 1_000;
    };
    const emptyMs = msFor(50_000, 0);
    msFor(50_000, 50_000);
    expect(msFor(150_000, 100_000)).toBeLessThan(6 * 3 * emptyMs);
  });

  it("keeps the inputs of decisions, without user data, and with shortened labels", () => {
    const observations = new Observations();
    const long = "x".repeat(100_000);
    const request = {
      kind: "release",
      holder: "z",
      by: long,
      reason: long,
      at: long,
      now: false,
    } as const;
    const further = {
      data: { long },
      attributes: { long: { S: long } },
      requestedHolders: [long],
      request,
    };
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
        request: { by: "x".repeat(1_000), reason: "x".repeat(1_000), at: "x".repeat(100) },
      });
      for (const left of ["data", "attributes", "requestedHolders", "acquiredAt"]) {
        expect(seen).not.toHaveProperty(left);
      }
    }
  });

  it("keeps every input of a decision unchanged", () => {
    const observations = new Observations();
    const record = {
      ...held("a", 7n, "v"),
      queue: { tail: 3n, served: 2n },
      lastHolder: "z",
      owner: "me",
      notBeforeWallMs: 5,
      session: "s",
      request: {
        kind: "release",
        holder: "z",
        by: "b",
        reason: "r".repeat(1_000),
        at: "t",
        now: true,
      },
    } as const;
    observations.see("one", record, "strong", 1);
    const { acquiredAt, data, mark, dataSeq, ...decisive } = record;
    expect(observations.of("one")?.record).toEqual(decisive);
  });

  it("counts the memory of each name once, however many reads show it", () => {
    const observations = new Observations();
    for (const owner of ["a", "a".repeat(50), "a"]) {
      observations.see("one", { ...a3, owner }, "strong", 1);
      observations.see("two", absent, "strong", 1);
    }
    // 1,000 bytes each, and two bytes for each character of the names, the state, the holder and the owner.
    expect(observations.bytes).toBe(2_000 + 2 * (3 + 3 + "held".length + 1 + 1 + "absent".length));
  });
});

describe("the `Date` of an observation", () => {
  const seenAt = (
    before: Observation | undefined,
    record: LeaseRecord,
    consistency: Consistency,
    dateMs?: number,
  ) => observe(before, record, consistency, 20, dateMs).dated;
  const known: Observation = { ...earlier(a3), dated: { dateMs: 5_000, atMs: 10 } };

  it("comes from a strongly consistent answer that shows the record", () => {
    expect(seenAt(undefined, a3, "strong", 7_000)).toEqual({ dateMs: 7_000, atMs: 20 });
    expect(seenAt(known, a3, "strong", 7_000)).toEqual({ dateMs: 7_000, atMs: 20 });
    expect(seenAt(known, held("a", 7n, 4n), "strong", 7_000)).toEqual({ dateMs: 7_000, atMs: 20 });
  });

  it("never comes from an eventually consistent read", () => {
    expect(seenAt(undefined, a3, "eventual", 7_000)).toBeUndefined();
    expect(seenAt(known, a3, "eventual", 7_000)).toEqual(known.dated);
  });

  it("is kept by an answer without a `Date`, and dropped with the record", () => {
    expect(seenAt(known, a3, "strong")).toEqual(known.dated);
    expect(seenAt(known, held("a", 7n, 4n), "strong")).toBeUndefined();
    expect(seenAt(known, held("a", 7n, 4n), "eventual", 7_000)).toBeUndefined();
  });
});
