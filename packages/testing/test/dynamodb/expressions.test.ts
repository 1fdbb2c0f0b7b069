import { describe, expect, it } from "vitest";
import { Bench } from "./kit.js";

const VALUES = {
  ":s": { S: "hello" },
  ":n": { N: "5" },
  ":o": { N: "9" },
  ":ss": { SS: ["a"] },
  ":l": { L: [{ S: "x" }] },
  ":yes": { BOOL: true },
  ":type": { S: "S" },
};

/** Picks the values that the expression uses. */
function used(expression: string): { readonly [name: string]: unknown } | undefined {
  const names = new Set(expression.match(/:\w+/g));
  const entries = Object.entries(VALUES).filter(([name]) => names.has(name));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function bench(): Bench {
  const made = new Bench();
  made.put({
    s: { S: "hello" },
    n: { N: "5" },
    l: { L: [{ S: "x" }, { N: "1" }, { S: "y" }] },
    m: { M: { q: { N: "1" } } },
    ss: { SS: ["a", "b"] },
  });
  return made;
}

describe("a condition expression", () => {
  it.each([
    "s = :s",
    "s <> :n",
    "nope <> :s",
    "n < :o AND n >= :n",
    "n BETWEEN :n AND :o",
    "s IN (:n, :s)",
    "attribute_exists(m.q) and attribute_not_exists(m.z)",
    "attribute_type(s, :type)",
    "begins_with(s, s2) OR contains(:s, s)",
    "contains(l, l[0])",
    "size(ss) < :n",
    "NOT (s = :n OR n = :s)",
    "s = :n AND s = :n OR n = :n",
  ])("is true: %s", (expression) => {
    expect(bench().holds(expression, used(expression))).toBe(true);
  });

  it.each([
    "s = :n",
    "s < :n",
    "nope = :s",
    "nope < :n",
    "size(nope) = :n",
    "size(n) = :n",
    "contains(ss, :ss)",
    "l[7] = :s",
    "s.x = :s",
    "NOT s = :s",
    "n = :n AND (s = :n OR n = :s)",
  ])("is false: %s", (expression) => {
    expect(bench().holds(expression, used(expression))).toBe(false);
  });

  it.each([
    ["", "The expression can not be empty;"],
    ["s = ", 'Syntax error; token: "<EOF>", near: "= "'],
    ["s == :s", 'Syntax error; token: "=", near: "== :s"'],
    ["((s = :s))", "The expression has redundant parentheses;"],
    ["status = :s", "Attribute name is a reserved keyword; reserved keyword: status"],
    ["foo(s)", "Invalid function name; function: foo"],
    ["s = :undefined", /value used in expression is not defined; attribute value: :undefined$/],
    [
      "#undefined = :s",
      /name used in the document path is not defined; attribute name: #undefined$/,
    ],
    ["begins_with(s)", /Incorrect number of operands .* number of operands: 1$/],
    ["s < :yes", /Incorrect operand type .* operand type: BOOL$/],
    ["n BETWEEN :o AND :n", /requires upper bound to be greater than or equal to lower bound/],
    ["s = s", /first operand must be distinct .* operator: =, first operand: \[s\]$/],
    [`${"n = :n OR ".repeat(200)}n = :n`, /too many operators; operator count: 301$/],
  ])("is refused: %s", (expression, message) => {
    const fault = bench().conditionFault(expression, used(expression));
    const prefix = "ValidationException: Invalid ConditionExpression: ";
    expect(fault.slice(0, prefix.length)).toBe(prefix);
    expect(fault.slice(prefix.length)).toMatch(message);
  });

  it("may be nested up to the length limit", () => {
    const deep = `${"(NOT ".repeat(290)}n = :n${")".repeat(290)}`;
    expect(bench().holds(deep, used(deep))).toBe(true);
  });
});

describe("an update expression", () => {
  it.each([
    ["SET s = :n, n = s", { s: { N: "5" }, n: { S: "hello" } }],
    ["SET n = n + :n", { n: { N: "10" } }],
    ["SET z = if_not_exists(z, :n) - :o", { z: { N: "-4" } }],
    [
      "SET l = list_append(:l, l) REMOVE m",
      { l: { L: [{ S: "x" }, { S: "x" }, { N: "1" }, { S: "y" }] }, m: undefined },
    ],
    [
      "SET l[9] = :s, l[7] = :n",
      { l: { L: [{ S: "x" }, { N: "1" }, { S: "y" }, { N: "5" }, { S: "hello" }] } },
    ],
    ["SET l[0] = :s REMOVE l[1]", { l: { L: [{ S: "hello" }, { S: "y" }] } }],
    ["SET l[1] = l[0], l[0] = l[1]", { l: { L: [{ N: "1" }, { S: "x" }, { S: "y" }] } }],
    ["REMOVE l[0], l[1]", { l: { L: [{ S: "y" }] } }],
    ["SET m.z = m", { m: { M: { q: { N: "1" }, z: { M: { q: { N: "1" } } } } } }],
    ["ADD n :n, fresh :n, ss :ss", { n: { N: "10" }, fresh: { N: "5" } }],
    ["DELETE ss :ss", { ss: { SS: ["b"] } }],
  ])("applies %s", (expression, changed) => {
    const made = bench();
    const before = made.item();
    made.update(expression, used(expression));
    expect(made.item()).toEqual({ ...(before as object), ...changed });
  });

  it("removes a set together with the last member", () => {
    const made = bench();
    made.update("DELETE ss :all", { ":all": { SS: ["a", "b", "c"] } });
    expect(made.item()).not.toHaveProperty("ss");
  });

  it.each([
    ["SET z.q = :n", "The document path provided in the update expression is invalid for update"],
    ["SET s[0] = :n", "The document path provided in the update expression is invalid for update"],
    [
      "SET z = nope",
      "The provided expression refers to an attribute that does not exist in the item",
    ],
    ["SET z = s + :n", "An operand in the update expression has an incorrect data type"],
    ["ADD s :n", "An operand in the update expression has an incorrect data type"],
    ["SET pk = :s", /Cannot update attribute pk. This attribute is part of the key$/],
    [
      "SET z = :n, z.y = :n",
      /Two document paths overlap with each other; .* path one: \[z\], path two: \[z, y\]$/,
    ],
    ["SET m.q = :n, m[0] = :n", /Two document paths conflict with each other/],
    ["SET z = :n SET y = :n", /The "SET" section can only be used once/],
    ["SET z = (n + :n) - :n", /Syntax error; token: "-", near: "\) - :n"$/],
    ["SET z = size(s)", /The function is not allowed in an update expression; function: size$/],
    ["ADD n :s", /operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND$/],
  ])("is refused: %s", (expression, message) => {
    const made = bench();
    const before = made.item();
    const fault = made.updateFault(expression, used(expression));
    expect(fault.replace("ValidationException: ", "")).toMatch(message);
    expect(made.item()).toEqual(before);
  });

  it("returns the requested values, limited to the updated paths", () => {
    const returned = (ReturnValues: string): unknown =>
      bench().update(
        "SET m.z = :n, n = :o REMOVE l[0]",
        { ":n": { N: "5" }, ":o": { N: "9" } },
        { ReturnValues },
      )["Attributes"];
    expect(returned("NONE")).toBeUndefined();
    expect(returned("ALL_OLD")).toMatchObject({ n: { N: "5" }, s: { S: "hello" } });
    expect(returned("ALL_NEW")).toMatchObject({ n: { N: "9" }, s: { S: "hello" } });
    expect(returned("UPDATED_OLD")).toEqual({ n: { N: "5" }, l: { L: [{ S: "x" }] } });
    expect(returned("UPDATED_NEW")).toEqual({ n: { N: "9" }, m: { M: { z: { N: "5" } } } });
  });
});

describe("a projection expression", () => {
  it("keeps values within their parents and closes gaps in lists", () => {
    const ProjectionExpression = "#s, m.q, m.nope, l[2], l[0]";
    const { Item } = bench().ok("GetItem", {
      Key: { pk: { S: "p" }, sk: { S: "a" } },
      ProjectionExpression,
      ExpressionAttributeNames: { "#s": "s" },
    });
    expect(Item).toEqual({
      s: { S: "hello" },
      m: { M: { q: { N: "1" } } },
      l: { L: [{ S: "x" }, { S: "y" }] },
    });
  });
});

describe("placeholders", () => {
  it("are refused if unused, misspelt or useless", () => {
    const made = bench();
    expect(made.conditionFault("s = :s", { ":s": { S: "a" }, ":z": { S: "b" } })).toBe(
      "ValidationException: Value provided in ExpressionAttributeValues unused in expressions: keys: {:z}",
    );
    expect(made.conditionFault("s = :s", { ":s": { S: "a" }, z: { S: "b" } })).toMatch(
      /ExpressionAttributeValues contains invalid key: Syntax error; key: "z"$/,
    );
    expect(made.conditionFault("s = :s", { ":s": {} })).toMatch(
      /contains invalid value: Supplied AttributeValue is empty.* for key :s$/,
    );
    expect(
      made.fault("GetItem", {
        Key: { pk: { S: "p" }, sk: { S: "a" } },
        ExpressionAttributeNames: { "#a": "a" },
      }),
    ).toMatch(/ExpressionAttributeNames can only be specified when using expressions$/);
  });
});
