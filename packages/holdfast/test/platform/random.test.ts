import { describe, expect, it, vi } from "vitest";
import { IdBytes, idFrom, systemRandom } from "../../src/platform/random.js";

const BYTES = new Uint8Array(16).fill(7);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

// As in a process restored from a snapshot together with the state of the random generator.
vi.mock("node:crypto", async (original) => ({
  ...(await original<typeof import("node:crypto")>()),
  randomBytes: (count: number) => new Uint8Array(count).fill(7),
}));

describe("an id", () => {
  it("is a random UUID, equal for equal bytes and moments", () => {
    expect(idFrom(BYTES, "now")).toMatch(UUID);
    expect(idFrom(BYTES, "now")).toBe(idFrom(BYTES, "now"));
    expect(idFrom(BYTES, "later")).not.toBe(idFrom(BYTES, "now"));
    expect(idFrom(new Uint8Array(16), "now")).not.toBe(idFrom(BYTES, "now"));
  });

  it("differs at every moment, even if the generator repeats its bytes", () => {
    const ids = Array.from({ length: 1_000 }, () => systemRandom.id());
    expect(new Set(ids).size).toBe(1_000);
    for (const id of ids) expect(id).toMatch(UUID);
  });
});

describe("the bytes of ids", () => {
  /** Counts its draws. The bytes of one id are equal: the number of the draw, and the id's place in it. */
  function counted() {
    let draws = 0;
    const bytes = new IdBytes((count) => {
      draws += 1;
      return Uint8Array.from({ length: count }, (_, at) => draws + (at >> 4));
    });
    return { bytes, draws: () => draws };
  }

  it("are drawn once for 64 ids, 16 bytes for each, and none is used twice", () => {
    const { bytes, draws } = counted();
    const used = Array.from({ length: 64 }, () => bytes.next(5_000));
    expect(draws()).toBe(1);
    expect(used.map((one) => one.length)).toEqual(used.map(() => 16));
    expect(used.map(([first]) => first)).toEqual(used.map((_, at) => 1 + at));
    expect(bytes.next(5_000)[0]).toBe(2);
    expect(draws()).toBe(2);
  });

  it.each([
    ["more than a second later", 6_001, 2],
    ["at most a second later", 6_000, 1],
    ["before the draw, by the wall clock", 4_999, 2],
  ])("are drawn anew in a copy of the process that runs on %s", (_, nowMs, draws) => {
    const scene = counted();
    scene.bytes.next(5_000);
    scene.bytes.next(nowMs);
    expect(scene.draws()).toBe(draws);
  });
});
