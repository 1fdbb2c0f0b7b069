import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  compileCondition,
  compileProjection,
  compileWrite,
} from "../../../src/platform/dynamodb/expressions.js";
import type { AttributeValue, Change, Condition } from "../../../src/platform/table.js";

const equals = (attribute: string, value: string): Condition => ({
  kind: "equals",
  attribute,
  value: { S: value },
});

describe("the compiler of expressions", () => {
  it("writes every kind of condition", () => {
    const condition: Condition = {
      kind: "any",
      of: [
        { kind: "absent", attribute: "a" },
        {
          kind: "all",
          of: [
            { kind: "present", attribute: "b" },
            equals("c", "x"),
            { kind: "below", attribute: "d", value: { N: "7" } },
            { kind: "at-least", attribute: "e", value: { N: "8" } },
            { kind: "same", attribute: "f", as: "g" },
          ],
        },
      ],
    };
    expect(compileCondition(condition)).toEqual({
      text:
        "(attribute_not_exists(#0) OR (attribute_exists(#1) AND #2 = :0 AND #3 < :1 AND #4 >= :2 " +
        "AND #5 = #6))",
      names: { "#0": "a", "#1": "b", "#2": "c", "#3": "d", "#4": "e", "#5": "f", "#6": "g" },
      values: { ":0": { S: "x" }, ":1": { N: "7" }, ":2": { N: "8" } },
    });
  });

  it("compiles a comparison with a member of a map", () => {
    const value = { S: "x" };
    const condition: Condition = {
      kind: "any",
      of: [
        { kind: "differs", attribute: "a", member: "b", value },
        { kind: "equals", attribute: "a", member: "c", value },
      ],
    };
    expect(compileCondition(condition)).toEqual({
      text: "(#0.#1 <> :0 OR #0.#2 = :0)",
      names: { "#0": "a", "#1": "b", "#2": "c" },
      values: { ":0": { S: "x" } },
    });
  });

  it("keeps what belongs together together: AND would bind closer than OR", () => {
    const or: Condition = { kind: "any", of: [equals("a", "1"), equals("b", "2")] };
    const { text } = compileCondition({ kind: "all", of: [equals("c", "3"), or] });
    expect(text).toBe("(#0 = :0 AND (#1 = :1 OR #2 = :2))");
  });

  it("adds no brackets around a single part, which DynamoDB refuses as redundant", () => {
    const one: Condition = { kind: "any", of: [{ kind: "all", of: [equals("a", "1")] }] };
    expect(compileCondition(one).text).toBe("#0 = :0");
  });

  it("writes every kind of change, and an equal name or value once", () => {
    const compiled = compileWrite(equals("holder", "me"), {
      set: {
        holder: { S: "me" },
        version: { incrementFrom: "0" },
        fence: { incrementFrom: "1" },
        data: { orElse: { M: {} } },
      },
      remove: ["session", "holder"],
    });
    expect(compiled).toEqual({
      text: "#0 = :0",
      update:
        "SET #0 = :0, #1 = if_not_exists(#1, :1) + :2, #2 = if_not_exists(#2, :2) + :2, " +
        "#3 = if_not_exists(#3, :3) REMOVE #4, #0",
      names: { "#0": "holder", "#1": "version", "#2": "fence", "#3": "data", "#4": "session" },
      values: { ":0": { S: "me" }, ":1": { N: "0" }, ":2": { N: "1" }, ":3": { M: {} } },
    });
  });

  it("never confuses a number with the same text", () => {
    const both: Condition = {
      kind: "all",
      of: [equals("a", "1"), { kind: "equals", attribute: "b", value: { N: "1" } }],
    };
    expect(compileCondition(both).values).toEqual({ ":0": { S: "1" }, ":1": { N: "1" } });
  });

  it("leaves out empty parts of a change", () => {
    const condition = equals("a", "1");
    expect(compileWrite(condition, { set: {}, remove: ["b"] }).update).toBe("REMOVE #1");
    expect(compileWrite(condition, { set: { b: { S: "1" } }, remove: [] }).update).toBe(
      "SET #1 = :0",
    );
  });

  it("lists attributes to read as placeholders only", () => {
    expect(compileProjection(["name", "v", "name"])).toEqual({
      text: "#0, #1, #0",
      names: { "#0": "name", "#1": "v" },
    });
  });
});

/** Few names and few values, so that writes of one shape, and almost of one shape, follow each other. */
const attribute = fc.constantFrom("a", "b", "c", "#0");
const digit = fc.constantFrom("1", "2", "3");
const value: fc.Arbitrary<AttributeValue> = fc.oneof(
  digit.map((S) => ({ S })),
  digit.map((N) => ({ N })),
  digit.map((S) => ({ M: { a: { S } } })),
);
const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 2 },
    fc.record({ kind: fc.constantFrom("present" as const, "absent" as const), attribute }),
    fc.record({ kind: fc.constant("same" as const), attribute, as: attribute }),
    fc.record({
      kind: fc.constantFrom(
        "equals" as const,
        "differs" as const,
        "below" as const,
        "at-least" as const,
      ),
      attribute,
      member: fc.option(attribute, { nil: undefined }),
      value,
    }),
    fc.record({
      kind: fc.constantFrom("all" as const, "any" as const),
      of: fc.array(tie("condition"), { minLength: 1, maxLength: 3 }),
    }),
  ),
}));
const operand = fc.oneof(
  value,
  value.map((orElse) => ({ orElse })),
  fc.record(
    { incrementFrom: digit, by: fc.integer({ min: 1, max: 3 }), of: attribute },
    { requiredKeys: ["incrementFrom"] },
  ),
);
const change: fc.Arbitrary<Change> = fc.record({
  set: fc.dictionary(attribute, operand, { maxKeys: 3 }),
  remove: fc.array(attribute, { maxLength: 2 }),
});

/** The meaning of a compiled text: each placeholder replaced by what it stands for. */
function meaningOf(text: string, { names, values }: ReturnType<typeof compileWrite>): string {
  return text.replace(/([#:])\d+/g, (placeholder, kind: string) =>
    JSON.stringify(kind === "#" ? names[placeholder] : values[placeholder]),
  );
}

const SIGNS = { equals: "=", differs: "<>", below: "<", "at-least": ">=" };
const shown = (told: unknown): string => JSON.stringify(told);

/** The meaning of a condition, written without placeholders. */
function textOf(one: Condition): string {
  switch (one.kind) {
    case "present":
      return `attribute_exists(${shown(one.attribute)})`;
    case "absent":
      return `attribute_not_exists(${shown(one.attribute)})`;
    case "same":
      return `${shown(one.attribute)} = ${shown(one.as)}`;
    case "all":
    case "any": {
      const joined = one.of.map(textOf).join(one.kind === "all" ? " AND " : " OR ");
      return one.of.length === 1 ? joined : `(${joined})`;
    }
    default: {
      const path = [one.attribute, one.member ?? []].flat().map(shown).join(".");
      return `${path} ${SIGNS[one.kind]} ${shown(one.value)}`;
    }
  }
}

function updateOf({ set, remove }: Change): string {
  const sets = Object.entries(set).map(([name, to]) => {
    const own = shown(name);
    if ("orElse" in to) return `${own} = if_not_exists(${own}, ${shown(to.orElse)})`;
    if (!("incrementFrom" in to)) return `${own} = ${shown(to)}`;
    const { incrementFrom: N, of = name, by = 1 } = to;
    return `${own} = if_not_exists(${shown(of)}, ${shown({ N })}) + ${shown({ N: String(by) })}`;
  });
  return [
    sets.length === 0 ? [] : `SET ${sets.join(", ")}`,
    remove.length === 0 ? [] : `REMOVE ${remove.map(shown).join(", ")}`,
  ]
    .flat()
    .join(" ");
}

describe("the text of a write, which is composed once for all writes of one shape", () => {
  it("means this write, after any writes before it", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(condition, change), { maxLength: 60 }), (writes) => {
        for (const [when, what] of writes) {
          const compiled = compileWrite(when, what);
          expect(meaningOf(compiled.text, compiled)).toBe(textOf(when));
          expect(meaningOf(compiled.update, compiled)).toBe(updateOf(what));
        }
      }),
      { numRuns: 200 },
    );
  });

  const three = (first: string, second: string, third: string): Condition => ({
    kind: "all",
    of: [equals("a", first), equals("b", second), equals("c", third)],
  });
  const [S, orElse] = ["1", { S: "1" }];
  const set = (a: Change["set"][string], remove: string[] = []) => ({ set: { a }, remove });
  const TWINS: readonly [string, Condition, Condition | Change, Change?][] = [
    ["which values are equal", three("1", "1", "2"), three("1", "2", "2")],
    ["a value's type", equals("a", "1"), { kind: "equals", attribute: "a", value: { N: "1" } }],
    ["the value that is kept", equals("a", "1"), set({ S }), set({ orElse })],
    [
      "the attribute that is incremented",
      equals("a", "1"),
      set({ incrementFrom: "1" }),
      set({ incrementFrom: "1", of: "b" }),
    ],
    ["the attribute that is removed", equals("a", "1"), set({ S }, ["b"]), set({ S }, ["c"])],
    [
      "what is set or removed",
      equals("a", "1"),
      set({ S }, ["b"]),
      { set: {}, remove: ["a", "b"] },
    ],
  ];

  it.each(TWINS)("means this write, and not one that differs in %s", (_, when, one, other) => {
    const nothing: Change = { set: {}, remove: [] };
    const writes: [Condition, Change][] =
      "kind" in one
        ? [
            [when, nothing],
            [one, nothing],
          ]
        : [
            [when, one],
            [when, other ?? nothing],
          ];
    for (const [condition, change] of [...writes, ...writes]) {
      const compiled = compileWrite(condition, change);
      expect(meaningOf(compiled.text, compiled)).toBe(textOf(condition));
      expect(meaningOf(compiled.update, compiled)).toBe(updateOf(change));
    }
  });

  it("is the same text, with the values of each write", () => {
    const write = (holder: string) =>
      compileWrite(equals("holder", holder), { set: { mark: { S: holder } }, remove: [] });
    const [one, other] = [write("x"), write("y")];
    expect(other).toEqual({ ...one, values: { ":0": { S: "y" } } });
  });

  it("is not changed by a caller that changes a compiled write", () => {
    const write = () => compileWrite(equals("a", "1"), { set: {}, remove: ["b"] });
    const first = write();
    first.names["#0"] = "changed";
    expect(write().names).toEqual({ "#0": "a", "#1": "b" });
  });
});
