import { describe, expect, it } from "vitest";
import type { AttributeValue, Condition, Item } from "../../../holdfast/src/platform/table.js";
import { holds } from "../../src/table/interpret.js";

const N = (number: number | bigint | string): AttributeValue => ({ N: String(number) });

describe("a condition on a table in memory", () => {
  const item: Item = { n: N(10), s: { S: "é" }, b: { B: new Uint8Array([1]) }, t: { BOOL: true } };
  const check = (condition: Condition): boolean => holds(condition, item);
  const compare = (
    kind: "equals" | "below" | "at-least",
    attribute: string,
    value: AttributeValue,
  ) => check({ kind, attribute, value });

  it("compares numbers by value, strings and bytes by their bytes", () => {
    expect(compare("equals", "n", N("10.0"))).toBe(true);
    expect(compare("below", "n", N("9"))).toBe(false);
    expect(compare("below", "n", N("10"))).toBe(false);
    expect(compare("below", "n", N("10.5"))).toBe(true);
    expect(compare("at-least", "n", N("10"))).toBe(true);
    expect(compare("at-least", "n", N("-11"))).toBe(true);
    expect(compare("below", "s", { S: "z" })).toBe(false);
    expect(compare("at-least", "s", { S: "z" })).toBe(true);
    expect(compare("below", "b", { B: new Uint8Array([1, 0]) })).toBe(true);
    // UTF-16 has the surrogates of the second below the first.
    const sorted = holds(
      { kind: "below", attribute: "s", value: { S: "\u{1F600}" } },
      { s: { S: "\uFFFD" } },
    );
    expect(sorted).toBe(true);
  });

  it("compares a member of a map", () => {
    const map: Item = { m: { M: { a: { S: "x" } } }, s: { S: "x" } };
    const compareMember = (kind: "equals" | "differs", attribute: string, member: string) =>
      holds({ kind, attribute, member, value: { S: "x" } }, map);
    expect(compareMember("equals", "m", "a")).toBe(true);
    expect(compareMember("differs", "m", "a")).toBe(false);
    for (const [attribute, member] of [
      ["m", "b"],
      ["s", "a"],
      ["absent", "a"],
    ] as const) {
      expect(compareMember("equals", attribute, member)).toBe(false);
      expect(compareMember("differs", attribute, member)).toBe(true);
    }
    expect(holds({ kind: "differs", attribute: "n", value: N(9) }, item)).toBe(true);
    expect(holds({ kind: "differs", attribute: "n", value: N("10.0") }, item)).toBe(false);
    expect(holds({ kind: "differs", attribute: "n", value: N(9) }, undefined)).toBe(true);
  });

  it("is false for an absent attribute and for another type, whatever the comparison", () => {
    for (const kind of ["equals", "below", "at-least"] as const) {
      expect(compare(kind, "absent", N(0))).toBe(false);
      expect(compare(kind, "n", { S: "10" })).toBe(false);
      expect(compare(kind, "s", N(0))).toBe(false);
      expect(holds({ kind, attribute: "n", value: N(0) }, undefined)).toBe(false);
    }
    expect(check({ kind: "same", attribute: "absent", as: "absent" })).toBe(false);
    expect(check({ kind: "same", attribute: "n", as: "absent" })).toBe(false);
    expect(check({ kind: "same", attribute: "n", as: "s" })).toBe(false);
    expect(check({ kind: "same", attribute: "n", as: "n" })).toBe(true);
  });

  it("combines conditions; an empty `all` is true and an empty `any` is false", () => {
    const yes: Condition = { kind: "present", attribute: "n" };
    const no: Condition = { kind: "absent", attribute: "n" };
    expect(check({ kind: "all", of: [yes, { kind: "any", of: [no, yes] }] })).toBe(true);
    expect(check({ kind: "all", of: [yes, no] })).toBe(false);
    expect(check({ kind: "all", of: [] })).toBe(true);
    expect(check({ kind: "any", of: [] })).toBe(false);
    expect(check({ kind: "any", of: [no, no] })).toBe(false);
  });

  it("treats sets and maps as equal in any order, lists only in the same order", () => {
    const nested = (names: readonly string[], first: string): AttributeValue => ({
      M: Object.fromEntries(names.map((name) => [name, { SS: [first, "x", "y"] }])),
    });
    const same = (left: AttributeValue, right: AttributeValue): boolean =>
      holds({ kind: "equals", attribute: "a", value: right }, { a: left });
    expect(same(nested(["p", "q"], "a"), nested(["q", "p"], "a"))).toBe(true);
    expect(same({ SS: ["a", "b"] }, { SS: ["b", "a"] })).toBe(true);
    expect(same({ NS: ["1", "2.0"] }, { NS: ["2", "1"] })).toBe(true);
    expect(same({ L: [N(1), N(2)] }, { L: [N(2), N(1)] })).toBe(false);
    expect(same({ BOOL: true }, { BOOL: false })).toBe(false);
    expect(same({ NULL: true }, { NULL: true })).toBe(true);
  });
});
