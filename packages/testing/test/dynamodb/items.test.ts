import { describe, expect, it } from "vitest";
import { Bench, keyOf } from "./kit.js";

describe("items", () => {
  it("come back unchanged, with numbers in normal form", () => {
    const bench = new Bench();
    bench.put({
      n: { N: "1.50" },
      b: { B: "YQ==" },
      e: { S: "" },
      t: { BOOL: false },
      z: { NULL: true },
      ns: { NS: ["1.0", "2"] },
      m: { M: { l: { L: [{ N: "007" }] } } },
      ["__proto__"]: { S: "an ordinary name" },
    });
    expect(bench.item()).toEqual({
      n: { N: "1.5" },
      b: { B: "YQ==" },
      e: { S: "" },
      t: { BOOL: false },
      z: { NULL: true },
      ns: { NS: ["1", "2"] },
      m: { M: { l: { L: [{ N: "7" }] } } },
      ["__proto__"]: { S: "an ordinary name" },
    });
  });

  it.each([
    [{}, /Supplied AttributeValue is empty/],
    [{ S: "a", N: "1" }, /more than one datatypes set/],
    [{ SS: [] }, /may not be empty/],
    [{ SS: ["a", "a"] }, /contains duplicates/],
    [{ NS: ["1", "1.0"] }, /contains duplicates/],
    [{ NULL: false }, /Null attribute value types must have the value of true/],
    [{ M: { "": { S: "a" } } }, /Empty attribute name/],
    [{ S: 5 }, /^SerializationException/],
    [{ B: "!!" }, /^SerializationException/],
    ["a", /^SerializationException/],
  ])("with the value %j are refused", (value, message) => {
    const fault = new Bench().fault("PutItem", { Item: { ...keyOf(), x: value } });
    expect(fault).toMatch(message);
  });

  it("are refused above 400 KB, and where documents lie too deep", () => {
    const bench = new Bench();
    const room = 400 * 1024 - "pk".length - "p".length - "sk".length - "a".length - "x".length;
    bench.put({ x: { S: "y".repeat(room) } });
    expect(
      bench.fault("PutItem", { Item: { ...keyOf(), x: { S: "y".repeat(room + 1) } } }),
    ).toMatch(/Item size has exceeded the maximum allowed size$/);
    expect(bench.updateFault("SET z = :z", { ":z": { S: "" } })).toMatch(
      /Item size to update has exceeded the maximum allowed size$/,
    );
    let deep: object = { S: "a" };
    for (let level = 0; level < 32; level += 1) deep = { L: [deep] };
    expect(bench.fault("PutItem", { Item: { ...keyOf(), deep } })).toMatch(/Nesting Levels/);
  });

  it.each([
    [{ pk: { S: "p" } }, /The number of conditions on the keys is invalid$/],
    [{ pk: { S: "p" }, x: { S: "a" } }, /One of the required keys was not given a value$/],
    [{ pk: { S: "p" }, sk: { N: "1" } }, /Type mismatch for key$/],
    [{ pk: { S: "p" }, sk: { S: "" } }, /cannot contain an empty string value. Key: sk$/],
    [{ pk: { S: "p" }, sk: { S: "x".repeat(1025) } }, /must be under 2048 bytes/],
    [undefined, /Cannot have null key/],
  ])("are not found by the key %j", (Key, message) => {
    expect(new Bench().fault("GetItem", { Key })).toMatch(message);
  });

  it("come back with a failed condition on request", () => {
    const bench = new Bench();
    bench.put({ holder: { S: "me" } });
    const request = {
      TableName: "table",
      Key: keyOf(),
      ConditionExpression: "attribute_not_exists(pk)",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    };
    const refused = bench.dynamodb.handle("DeleteItem", request);
    expect(refused).toEqual({
      status: 400,
      body: {
        __type: "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        message: "The conditional request failed",
        Message: "The conditional request failed",
        Item: { ...keyOf(), holder: { S: "me" } },
      },
    });
    const silent = { ...request, ReturnValuesOnConditionCheckFailure: "NONE" };
    expect(bench.dynamodb.handle("DeleteItem", silent).body).not.toHaveProperty("Item");
    const absent = { ...request, Key: keyOf("b"), ConditionExpression: "attribute_exists(pk)" };
    expect(bench.dynamodb.handle("DeleteItem", absent).body).not.toHaveProperty("Item");
  });

  it("cost the capacity units that AWS documents", () => {
    const bench = new Bench();
    const units = (operation: string, body: object): unknown => {
      const answer = bench.ok(operation, { ...body, ReturnConsumedCapacity: "TOTAL" });
      return (answer["ConsumedCapacity"] as { CapacityUnits: number }).CapacityUnits;
    };
    const large = { ...keyOf(), x: { S: "y".repeat(5000) } };
    expect(units("PutItem", { Item: keyOf() })).toBe(1);
    expect(units("PutItem", { Item: large })).toBe(5);
    expect(units("PutItem", { Item: keyOf() })).toBe(5);
    expect(units("DeleteItem", { Key: keyOf("z") })).toBe(1);
    expect(units("GetItem", { Key: keyOf("z") })).toBe(0.5);
    bench.put(large);
    expect(units("GetItem", { Key: keyOf(), ConsistentRead: true })).toBe(2);
    expect(units("GetItem", { Key: keyOf() })).toBe(1);
  });

  it("expire on request if TTL is on and the expiry has passed", () => {
    const bench = new Bench();
    const nowS = bench.nowMs / 1000;
    const YEAR_S = 365 * 24 * 60 * 60;
    bench.put({ ttl: { N: String(nowS - 1) } }, "past");
    bench.put({ ttl: { N: String(nowS + 60) } }, "future");
    bench.put({ ttl: { N: String(nowS - 6 * YEAR_S) } }, "too old");
    bench.put({ ttl: { S: String(nowS - 1) } }, "no number");
    bench.put({}, "none");
    expect(bench.dynamodb.deleteExpired()).toBe(0);
    bench.ok("UpdateTimeToLive", {
      TimeToLiveSpecification: { Enabled: true, AttributeName: "ttl" },
    });
    expect(bench.dynamodb.deleteExpired()).toBe(1);
    expect(bench.item("past")).toBeUndefined();
    bench.nowMs += 61_000;
    expect(bench.dynamodb.deleteExpired()).toBe(1);
    expect(bench.ok("Scan", { Select: "COUNT" })["Count"]).toBe(3);
  });
});
