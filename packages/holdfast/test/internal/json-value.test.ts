import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeJson, encodeJson, type Json } from "../../src/internal/json-value.js";

const refused = expect.objectContaining({ code: "invalid-argument" });

describe("a JSON value in a table", () => {
  it.each([
    [null, { NULL: true }],
    [true, { BOOL: true }],
    ["", { S: "" }],
    ["text", { S: "text" }],
    [0, { N: "0" }],
    [-0, { N: "0" }],
    [-1.5, { N: "-1.5" }],
    [1e21, { N: "1e+21" }],
    [1e-130, { N: "1e-130" }],
    [9.99e125, { N: "9.99e+125" }],
    [[], { L: [] }],
    [[1, ["a"]], { L: [{ N: "1" }, { L: [{ S: "a" }] }] }],
    [{}, { M: {} }],
    [{ a: { b: null } }, { M: { a: { M: { b: { NULL: true } } } } }],
  ] as const)("%j is kept as %j", (value, encoded) => {
    expect(encodeJson(value)).toEqual(encoded);
  });

  it("loses undefined members of an object, as in JSON", () => {
    expect(encodeJson({ a: undefined, b: 1 })).toEqual({ M: { b: { N: "1" } } });
  });

  it("may be an object without a prototype", () => {
    const bare = Object.assign(Object.create(null), { a: 1 });
    expect(encodeJson(bare)).toEqual({ M: { a: { N: "1" } } });
  });

  it.each([
    ["undefined", undefined],
    ["undefined in a list", [undefined]],
    ["NaN", Number.NaN],
    ["an infinite number", Number.NEGATIVE_INFINITY],
    ["a number that DynamoDB has no room for", 1e126],
    ["a number that is too small", 1e-131],
    ["a bigint", 1n],
    ["a symbol", Symbol("a")],
    ["a function", () => 1],
    ["a date", new Date()],
    ["a map", new Map()],
    ["a set, nested", { a: [new Set()] }],
    ["a buffer", Buffer.from("a")],
    ["an instance of a class", new (class Own {})()],
    ["a boxed value", Object("a")],
  ])("must not be %s", (_title, value) => {
    expect(() => encodeJson(value)).toThrowError(refused);
  });

  // map() skips a hole, which is then missing from the list.
  it("must not have a hole in a list, just as undefined", () => {
    expect(() => encodeJson(new Array(2))).toThrowError(refused);
  });

  it("must not be nested too deeply, or be circular", () => {
    const nested = (depth: number): Json => (depth === 0 ? 1 : [nested(depth - 1)]);
    expect(() => encodeJson(nested(30))).not.toThrow();
    expect(() => encodeJson(nested(31))).toThrowError(refused);
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    expect(() => encodeJson(cyclic)).toThrowError(refused);
  });

  it("must not exceed the size of an item, in bytes", () => {
    // DynamoDB counts the bytes of a string, without quotes, and two digits a byte.
    expect(() => encodeJson("x".repeat(350_000))).not.toThrow();
    expect(() => encodeJson("x".repeat(350_001))).toThrowError(refused);
    expect(() => encodeJson("\u00e9".repeat(175_001))).toThrowError(refused);
  });

  it("is read back unchanged", () => {
    const finite = fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .filter((value) => value === 0 || (Math.abs(value) > 1e-129 && Math.abs(value) < 1e125))
      .map((value) => value + 0);
    const NAMES = fc.string({ minLength: 1 }).filter((name) => name !== "__proto__");
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.constant(null),
        fc.boolean(),
        fc.string(),
        finite,
        fc.array(tie("value")),
        fc.dictionary(NAMES, tie("value")),
      ),
    }));
    fc.assert(
      fc.property(value, (json) => {
        expect(decodeJson(encodeJson(json))).toEqual(json);
      }),
      { numRuns: 500, seed: 1 },
    );
  });

  it("may have keys of Object.prototype", () => {
    const odd = JSON.parse('{"constructor": 2, "toString": {"a": 1}, "proto": null}');
    const back = decodeJson(encodeJson(odd));
    expect(JSON.stringify(back)).toBe(JSON.stringify(odd));
  });

  it("must not have a key `__proto__` at any depth", () => {
    for (const odd of [
      '{"__proto__":1}',
      '[{"a":{"__proto__":{}}}]',
      '{"a":[[{"__proto__":null}]]}',
    ]) {
      expect(() => encodeJson(JSON.parse(odd)), odd).toThrowError(refused);
    }
    // A value `__proto__`, or the prototype itself, is not such a key.
    expect(encodeJson(["__proto__"])).toEqual({ L: [{ S: "__proto__" }] });
    expect(encodeJson(Object.create(null))).toEqual({ M: {} });
  });

  it("must not have an empty key at any depth, which DynamoDB refuses", () => {
    for (const data of [{ "": 1 }, [{ a: { "": null } }]]) {
      expect(() => encodeJson(data)).toThrow('contains a key ""');
    }
  });

  it("from another client may have a key `__proto__`", () => {
    const back = decodeJson({ M: JSON.parse('{"__proto__": {"M": {"a": {"N": "1"}}}}') });
    expect(JSON.stringify(back)).toBe('{"__proto__":{"a":1}}');
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
  });

  it("from another client becomes the nearest JSON, without an exception", () => {
    expect(decodeJson({ SS: ["a", "b"] })).toEqual(["a", "b"]);
    expect(decodeJson({ NS: ["1", "2.5"] })).toEqual([1, 2.5]);
    expect(decodeJson({ B: Buffer.from("hi") })).toBe("aGk=");
    expect(decodeJson({ BS: [Buffer.from("hi")] })).toEqual(["aGk="]);
    expect(decodeJson({ NULL: true })).toBeNull();
    expect(decodeJson({ N: "123456789012345678901234567890" })).toBeCloseTo(1.2345678901234568e29);
  });
});
