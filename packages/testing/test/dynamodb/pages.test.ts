import { describe, expect, it } from "vitest";
import { Bench, keyOf } from "./kit.js";

type Json = { readonly [name: string]: unknown };

const HASH = { KeyConditionExpression: "pk = :p", ExpressionAttributeValues: { ":p": { S: "p" } } };

function filled(count: number, item: Json = {}): Bench {
  const bench = new Bench();
  for (let index = 0; index < count; index += 1) bench.put(item, `s${index}`);
  return bench;
}

function ranges(answer: Json): readonly string[] {
  const items = answer["Items"] as readonly { readonly sk: { readonly S: string } }[];
  return items.map((item) => item.sk.S);
}

/** All pages of a query or a scan. */
function walk(bench: Bench, operation: string, request: Json): readonly (readonly string[])[] {
  const pages: (readonly string[])[] = [];
  let start: unknown;
  do {
    const page = bench.ok(operation, {
      ...request,
      ...(start ? { ExclusiveStartKey: start } : {}),
    });
    pages.push(ranges(page));
    start = page["LastEvaluatedKey"];
  } while (start !== undefined);
  return pages;
}

describe("a query", () => {
  it("returns a partition in key order, forwards and backwards, in pages", () => {
    const bench = filled(5);
    expect(walk(bench, "Query", HASH)).toEqual([["s0", "s1", "s2", "s3", "s4"]]);
    expect(walk(bench, "Query", { ...HASH, Limit: 2 })).toEqual([
      ["s0", "s1"],
      ["s2", "s3"],
      ["s4"],
    ]);
    expect(walk(bench, "Query", { ...HASH, Limit: 4, ScanIndexForward: false })).toEqual([
      ["s4", "s3", "s2", "s1"],
      ["s0"],
    ]);
  });

  it.each([
    ["sk = :s", ["s2"]],
    ["sk < :s", ["s0", "s1"]],
    [":s <= sk", ["s2", "s3", "s4"]],
    ["begins_with(sk, :s)", ["s2"]],
    ["sk BETWEEN :s AND :t", ["s2", "s3"]],
  ])("finds by %s", (test, expected) => {
    const values = { ":s": { S: "s2" }, ...(test.includes(":t") ? { ":t": { S: "s3" } } : {}) };
    const found = filled(5).ok("Query", {
      KeyConditionExpression: `pk = :p AND ${test}`,
      ExpressionAttributeValues: { ":p": { S: "p" }, ...values },
    });
    expect(ranges(found)).toEqual(expected);
  });

  it("orders strings by bytes, not by code units", () => {
    const bench = new Bench();
    for (const sk of ["\u{1f600}", "\uffee", "a"]) bench.put({}, sk);
    expect(ranges(bench.ok("Query", HASH))).toEqual(["a", "\uffee", "\u{1f600}"]);
  });

  it("counts, filters and projects", () => {
    const bench = filled(4);
    bench.put({ odd: { BOOL: true } }, "s1");
    const filter = { ...HASH, FilterExpression: "attribute_exists(odd)" };
    expect(bench.ok("Query", { ...filter, Select: "COUNT" })).toEqual({
      Count: 1,
      ScannedCount: 4,
    });
    expect(bench.ok("Query", { ...filter, ProjectionExpression: "odd" })["Items"]).toEqual([
      { odd: { BOOL: true } },
    ]);
  });

  it("ends a page at one megabyte", () => {
    const bench = filled(6, { x: { S: "y".repeat(300_000) } });
    const page = bench.ok("Query", { ...HASH, Select: "COUNT", ReturnConsumedCapacity: "TOTAL" });
    expect(page).toMatchObject({
      Count: 4,
      LastEvaluatedKey: keyOf("s3"),
      ConsumedCapacity: { CapacityUnits: 146.5 },
    });
  });

  it.each([
    ["sk = :p", "Query condition missed key schema element"],
    ["pk > :p", "Query key condition not supported"],
    ["pk = :p OR sk = :p", "Invalid operator used in KeyConditionExpression: OR"],
    ["pk = :p AND pk = :p", "KeyConditionExpressions must only contain one condition per key"],
    ["pk = sk AND sk = :p", /Multiple attribute names used in one condition$/],
    ["pk.x = :p", /^Key attributes must be scalars/],
  ])("is refused: %s", (KeyConditionExpression, message) => {
    const fault = filled(0).fault("Query", { ...HASH, KeyConditionExpression });
    expect(fault.replace("ValidationException: ", "")).toMatch(message);
  });
});

describe("a scan", () => {
  it("finds every item once, in pages and in segments", () => {
    const bench = new Bench();
    const expected: string[] = [];
    for (let index = 0; index < 40; index += 1) {
      const sk = `s${String(index).padStart(2, "0")}`;
      bench.ok("PutItem", { Item: { pk: { S: `p${index}` }, sk: { S: sk } } });
      expected.push(sk);
    }
    const sorted = (pages: readonly (readonly string[])[]): readonly string[] =>
      pages.flat().sort();
    expect(sorted(walk(bench, "Scan", {}))).toEqual(expected);
    expect(sorted(walk(bench, "Scan", { Limit: 7 }))).toEqual(expected);
    const segments = [0, 1, 2].map((Segment) => {
      return walk(bench, "Scan", { Segment, TotalSegments: 3, Limit: 3 });
    });
    expect(sorted(segments.flat())).toEqual(expected);
    for (const segment of segments) expect(segment.flat().length).toBeGreaterThan(5);
  });
});
