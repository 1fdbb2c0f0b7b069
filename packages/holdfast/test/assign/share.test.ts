import { describe, expect, it } from "vitest";
import {
  digestOf,
  type SeenMember,
  type Sharer,
  shareOut,
  sharingIn,
} from "../../src/assign/share.js";

const SEEDS = 40;

const namesOf = (seed: number, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `tenant-${seed}-${at}`);
const membersOf = (seed: number, count: number): Sharer[] =>
  Array.from({ length: count }, (_, at) => ({ id: `${seed}-${at * 7919}`, weight: 1 }));

function sizes(shared: ReadonlyMap<string, string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const id of shared.values()) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

/** How many names change between two members of `before` and `after`, and how many go to `to`. */
function moves(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>, to = "") {
  const changed = [...before].filter(([name, id]) => after.get(name) !== id);
  const toNew = changed.filter(([name]) => after.get(name) === to).length;
  return { toNew, others: changed.length - toNew };
}

describe("shareOut", () => {
  it("gives each of ten members 100 of 1,000 names", () => {
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const shared = shareOut(namesOf(seed, 1_000), membersOf(seed, 10));
      expect(shared.size).toBe(1_000);
      expect([...sizes(shared).values()]).toEqual(Array(10).fill(100));
    }
  });

  it("differs by at most one where the names do not divide", () => {
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const shared = shareOut(namesOf(seed, 15), membersOf(seed, 10));
      const counts = [...sizes(shared).values()].sort();
      expect(counts).toEqual([1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
    }
  });

  it("is the same for every member, in whatever order it has the names and the members", () => {
    const names = namesOf(1, 100);
    const members = membersOf(1, 7);
    const shared = shareOut(names, members);
    const other = shareOut([...names].reverse(), [...members].reverse());
    expect(names.map((name) => other.get(name))).toEqual(names.map((name) => shared.get(name)));
  });

  it("gives an eleventh member an eleventh, and moves 2 % of the names besides, at most 4 %", () => {
    let besides = 0;
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const [names, members] = [namesOf(seed, 1_000), membersOf(seed, 11)];
      const before = shareOut(names, members.slice(0, 10));
      const { toNew, others } = moves(before, shareOut(names, members), members[10]?.id);
      expect(toNew).toBeGreaterThanOrEqual(90);
      expect(toNew).toBeLessThanOrEqual(91);
      expect(others).toBeLessThan(40);
      besides += others;
    }
    expect(besides / SEEDS).toBeLessThan(21);
  });

  it("moves the names of a member that goes, and few besides", () => {
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const [names, members] = [namesOf(seed, 1_000), membersOf(seed, 10)];
      const before = shareOut(names, members);
      const after = shareOut(names, members.slice(1));
      const kept = [...before].filter(([, id]) => id !== members[0]?.id);
      expect(kept.filter(([name, id]) => after.get(name) !== id).length).toBeLessThan(40);
    }
  });

  it("goes by the weights", () => {
    const members = [3, 1, 0, 1].map((weight, at) => ({ id: `m${at}`, weight }));
    const shared = shareOut(namesOf(1, 1_000), members);
    expect([0, 1, 2, 3].map((at) => sizes(shared).get(`m${at}`))).toEqual([
      600,
      200,
      undefined,
      200,
    ]);
  });

  it("is empty without a member of a positive weight", () => {
    expect(shareOut(["a"], []).size).toBe(0);
    expect(shareOut(["a"], [{ id: "m", weight: 0 }]).size).toBe(0);
  });

  it("shares 10,000 names over 100 members", () => {
    const [names, members] = [namesOf(1, 10_000), membersOf(1, 100)];
    const shared = shareOut(names, members);
    expect(new Set(sizes(shared).values())).toEqual(new Set([100]));
  });
});

describe("digestOf", () => {
  it("is the same in any order, and differs for other names", () => {
    expect(digestOf(["a", "b", "c"])).toBe(digestOf(["c", "a", "b"]));
    expect(digestOf(["a", "b"])).not.toBe(digestOf(["a", "c"]));
    expect(digestOf(["a"])).not.toBe(digestOf([]));
  });
});

describe("sharingIn", () => {
  const names = ["a", "b", "c"];
  const locks = new Map(names.map((name) => [name, { state: name === "c" ? "free" : "held" }]));
  const member = (session: string, change: Partial<SeenMember> = {}): SeenMember => ({
    ...{ session, weight: 1, names: digestOf(names), isLeaving: false, isDead: false },
    ...change,
  });

  it("shares the names over the members that live and stay", () => {
    const members = [member("1"), member("2", { isDead: true }), member("3", { isLeaving: true })];
    const { shared } = sharingIn(members, locks);
    expect([...(shared ?? [])].sort()).toEqual(names.map((name) => [name, "1"]));
  });

  it("leaves out a free name that the members do not know any more", () => {
    const { known, shared } = sharingIn([member("1", { names: digestOf(["a", "b"]) })], locks);
    expect([...known.keys()]).toEqual(["a", "b"]);
    expect([...(shared?.keys() ?? [])].sort()).toEqual(["a", "b"]);
  });

  it("leaves out what another group holds, whose name begins with that of this one", () => {
    const held = (session: string) => ({ state: "held", session });
    const both = new Map(
      [...names, "eu/a"].map((name) => [name, held(name === "eu/a" ? "9" : "1")]),
    );
    const { known, shared } = sharingIn([member("1")], both);
    expect([...known.keys()]).toEqual(names);
    expect([...(shared?.keys() ?? [])].sort()).toEqual(names);
  });

  it("tells nothing if the members differ in their names, know another one, or are none", () => {
    const other = member("2", { names: digestOf(["a", "b", "c", "d"]) });
    for (const members of [[member("1"), other], [other], []]) {
      expect(sharingIn(members, locks)).toEqual({ known: locks, shared: undefined });
    }
  });
});
