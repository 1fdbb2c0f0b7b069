import { describe, expect, it } from "vitest";
import { MemoryDynamoDB } from "../../src/dynamodb/memory-dynamodb.js";
import { Bench, keyOf } from "./kit.js";

const SCHEMA = {
  BillingMode: "PAY_PER_REQUEST",
  KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
  AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
};

describe("tables", () => {
  it("are created, described, listed and deleted", () => {
    const bench = new Bench();
    bench.put({});
    expect(bench.ok("DescribeTable", {})["Table"]).toMatchObject({
      TableName: "table",
      TableStatus: "ACTIVE",
      CreationDateTime: bench.nowMs / 1000,
      ItemCount: 1,
      KeySchema: [
        { AttributeName: "pk", KeyType: "HASH" },
        { AttributeName: "sk", KeyType: "RANGE" },
      ],
      BillingModeSummary: { BillingMode: "PAY_PER_REQUEST" },
    });
    bench.ok("CreateTable", { ...SCHEMA, TableName: "another" });
    expect(bench.ok("ListTables", {})).toEqual({ TableNames: ["another", "table"] });
    expect(bench.ok("ListTables", { Limit: 1 })).toEqual({
      TableNames: ["another"],
      LastEvaluatedTableName: "another",
    });
    bench.ok("DeleteTable", {});
    expect(bench.fault("GetItem", { Key: keyOf() })).toMatch(/^ResourceNotFoundException/);
  });

  it("are found by their name and by their ARN", () => {
    const bench = new Bench();
    const { TableArn } = bench.ok("DescribeTable", {})["Table"] as { TableArn: string };
    bench.ok("PutItem", { TableName: TableArn, Item: keyOf() });
    expect(bench.item()).toEqual({});
  });

  it.each([
    [{ TableName: "table" }, /^ResourceInUseException/],
    [{ TableName: "t" }, /Table\/index names must be between 3 and 255/],
    [{ BillingMode: "PROVISIONED" }, /No provisioned throughput specified/],
    [{ KeySchema: [{ AttributeName: "pk", KeyType: "RANGE" }] }, /No Hash Key specified/],
    [{ AttributeDefinitions: [] }, /not specified in Attribute Definitions/],
    [{ GlobalSecondaryIndexes: [] }, /does not support the parameter GlobalSecondaryIndexes/],
    [{ StreamSpecification: { StreamEnabled: true } }, /does not support streams/],
  ])("are not created with %j", (flaw, message) => {
    expect(new Bench().fault("CreateTable", { ...SCHEMA, TableName: "another", ...flaw })).toMatch(
      message,
    );
  });

  it("keep their protection against deletion", () => {
    const bench = new Bench();
    bench.ok("CreateTable", { ...SCHEMA, TableName: "another", DeletionProtectionEnabled: true });
    expect(bench.fault("DeleteTable", { TableName: "another" })).toMatch(
      /protected against deletion/,
    );
  });

  it("accept TTL once, for a single attribute", () => {
    const bench = new Bench();
    const set = (
      Enabled: boolean,
      AttributeName: string,
    ): { readonly [name: string]: unknown } => ({
      TimeToLiveSpecification: { Enabled, AttributeName },
    });
    expect(bench.fault("UpdateTimeToLive", set(false, "ttl"))).toMatch(/already disabled$/);
    bench.ok("UpdateTimeToLive", set(true, "ttl"));
    expect(bench.fault("UpdateTimeToLive", set(true, "ttl"))).toMatch(/already enabled$/);
    expect(bench.fault("UpdateTimeToLive", set(true, "other"))).toMatch(/different AttributeName$/);
    expect(bench.ok("DescribeTimeToLive", {})).toEqual({
      TimeToLiveDescription: { TimeToLiveStatus: "ENABLED", AttributeName: "ttl" },
    });
    bench.ok("UpdateTimeToLive", set(false, "ttl"));
    expect(bench.ok("DescribeTimeToLive", {})).toEqual({
      TimeToLiveDescription: { TimeToLiveStatus: "DISABLED" },
    });
  });
});

describe("the engine", () => {
  it.each(["Expected", "AttributeUpdates", "KeyConditions", "ScanFilter", "IndexName"])(
    "refuses %s instead of ignoring it",
    (parameter) => {
      expect(new Bench().fault("Scan", { [parameter]: {} })).toBe(
        `ValidationException: This table in memory does not support the parameter ${parameter}: use expressions, and neither secondary indexes nor streams`,
      );
    },
  );

  it("answers every request without throwing", () => {
    const dynamodb = new MemoryDynamoDB({ nowMs: () => 0 });
    expect(dynamodb.handle("BatchGetItem", {}).body["__type"]).toMatch(
      /#UnknownOperationException$/,
    );
    expect(dynamodb.handle("constructor", {}).status).toBe(400);
    for (const body of [undefined, null, 5, "a", [], { TableName: 5 }, { TableName: [] }]) {
      expect(dynamodb.handle("GetItem", body).body["__type"]).toMatch(
        /#(Serialization|Validation)Exception$/,
      );
    }
  });
});
