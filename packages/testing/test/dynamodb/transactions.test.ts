import { describe, expect, it } from "vitest";
import { Bench, keyOf } from "./kit.js";

type Json = { readonly [name: string]: unknown };

const TableName = "table";

const put = (sk: string, more: Json = {}): Json => ({
  Put: { TableName, Item: keyOf(sk), ...more },
});

const count = (more: Json = {}): Json => ({
  Update: {
    TableName,
    Key: keyOf("counter"),
    UpdateExpression: "ADD n :one",
    ExpressionAttributeValues: { ":one": { N: "1" } },
    ...more,
  },
});

const ABSENT = { ConditionExpression: "attribute_not_exists(pk)" };

describe("a transaction", () => {
  it("applies all actions or none, and reports a reason for each action", () => {
    const bench = new Bench();
    bench.put({ holder: { S: "me" } }, "taken");
    const refused = bench.dynamodb.handle("TransactWriteItems", {
      TransactItems: [
        put("fresh"),
        put("taken", { ...ABSENT, ReturnValuesOnConditionCheckFailure: "ALL_OLD" }),
        { Delete: { TableName, Key: keyOf("gone"), ConditionExpression: "attribute_exists(pk)" } },
        { Update: { TableName, Key: keyOf("other"), UpdateExpression: "SET a = nope" } },
      ],
    });
    expect(refused.body).toMatchObject({
      __type: "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
      message:
        "Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed, ConditionalCheckFailed, ValidationError]",
      CancellationReasons: [
        { Code: "None" },
        { Code: "ConditionalCheckFailed", Item: { ...keyOf("taken"), holder: { S: "me" } } },
        { Code: "ConditionalCheckFailed", Message: "The conditional request failed" },
        { Code: "ValidationError" },
      ],
    });
    expect(bench.item("fresh")).toBeUndefined();
    const check = {
      ConditionCheck: {
        TableName,
        Key: keyOf("taken"),
        ConditionExpression: "holder = :me",
        ExpressionAttributeValues: { ":me": { S: "me" } },
      },
    };
    bench.ok("TransactWriteItems", { TransactItems: [put("fresh"), check, count()] });
    expect(bench.item("fresh")).toEqual({});
    expect(bench.item("taken")).toEqual({ holder: { S: "me" } });
    expect(bench.item("counter")).toEqual({ n: { N: "1" } });
  });

  it("is applied once for each token within ten minutes", () => {
    const bench = new Bench();
    const request = { TransactItems: [count()], ClientRequestToken: "token" };
    const ask = (more: Json = {}): unknown =>
      bench.ok("TransactWriteItems", { ...request, ReturnConsumedCapacity: "TOTAL", ...more })[
        "ConsumedCapacity"
      ];
    expect(ask()).toEqual([{ TableName, CapacityUnits: 2, WriteCapacityUnits: 2 }]);
    bench.nowMs += 10 * 60 * 1000 - 1;
    expect(ask()).toEqual([{ TableName, CapacityUnits: 2, ReadCapacityUnits: 2 }]);
    expect(bench.item("counter")).toEqual({ n: { N: "1" } });
    const other = { ...request, TransactItems: [put("a")] };
    expect(bench.fault("TransactWriteItems", other)).toMatch(
      /^IdempotentParameterMismatchException/,
    );
    bench.nowMs += 1;
    ask();
    expect(bench.item("counter")).toEqual({ n: { N: "2" } });
  });

  it("frees the token after a cancellation", () => {
    const bench = new Bench();
    bench.put({});
    const token = { ClientRequestToken: "token" };
    expect(
      bench.fault("TransactWriteItems", { TransactItems: [put("a", ABSENT)], ...token }),
    ).toMatch(/^TransactionCanceledException/);
    bench.ok("TransactWriteItems", { TransactItems: [put("b", ABSENT)], ...token });
    expect(bench.item("b")).toEqual({});
  });

  it("is refused with two actions on the same item, without actions, and with more than a hundred", () => {
    const bench = new Bench();
    const many = (length: number): Json => ({
      TransactItems: Array.from({ length }, (_, index) => put(`s${index}`)),
    });
    expect(bench.fault("TransactWriteItems", { TransactItems: [put("a"), put("a")] })).toMatch(
      /cannot include multiple operations on one item$/,
    );
    expect(bench.fault("TransactWriteItems", { TransactItems: [] })).toMatch(
      /greater than or equal to 1$/,
    );
    expect(bench.fault("TransactWriteItems", many(101))).toMatch(/less than or equal to 100$/);
    bench.ok("TransactWriteItems", many(100));
    expect(bench.item("s99")).toEqual({});
  });

  it("costs two units for each kilobyte written and two for each four read", () => {
    const bench = new Bench();
    const large = { Item: { ...keyOf("large"), x: { S: "y".repeat(1500) } } };
    const written = bench.ok("TransactWriteItems", {
      TransactItems: [put("a"), put("large", large)],
      ReturnConsumedCapacity: "TOTAL",
    });
    expect(written["ConsumedCapacity"]).toMatchObject([{ CapacityUnits: 6 }]);
    const read = bench.ok("TransactGetItems", {
      TransactItems: ["a", "large", "none"].map((sk) => ({ Get: { TableName, Key: keyOf(sk) } })),
      ReturnConsumedCapacity: "TOTAL",
    });
    expect(read["Responses"]).toEqual([{ Item: keyOf("a") }, large, {}]);
    expect(read["ConsumedCapacity"]).toMatchObject([{ CapacityUnits: 6, ReadCapacityUnits: 6 }]);
  });
});
