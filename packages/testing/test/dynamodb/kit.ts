import { MemoryDynamoDB } from "../../src/dynamodb/memory-dynamodb.js";

type Json = { readonly [name: string]: unknown };

/** An engine with one table of a hash and a range key, and with a clock that the test sets. */
export class Bench {
  nowMs = 1_700_000_000_000;
  readonly dynamodb = new MemoryDynamoDB({ nowMs: () => this.nowMs });

  constructor() {
    this.ok("CreateTable", {
      TableName: "table",
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [
        { AttributeName: "pk", KeyType: "HASH" },
        { AttributeName: "sk", KeyType: "RANGE" },
      ],
      AttributeDefinitions: [
        { AttributeName: "pk", AttributeType: "S" },
        { AttributeName: "sk", AttributeType: "S" },
      ],
    });
  }

  /** The answer to a request that must succeed. Fills in `TableName`. */
  ok(operation: string, body: Json): Json {
    const answer = this.dynamodb.handle(operation, { TableName: "table", ...body });
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  /** The error of a request that must fail: the exception's short name, a colon, the message. */
  fault(operation: string, body: Json): string {
    const answer = this.dynamodb.handle(operation, { TableName: "table", ...body });
    if (answer.status === 200) throw new Error("It was accepted.");
    const type = String(answer.body["__type"]).replace(/^.*#/, "");
    return `${type}: ${String(answer.body["message"])}`;
  }

  put(item: Json, sk = "a"): Json {
    return this.ok("PutItem", { Item: { pk: { S: "p" }, sk: { S: sk }, ...item } });
  }

  /** The item without the key. */
  item(sk = "a"): unknown {
    const { Item } = this.ok("GetItem", { Key: keyOf(sk) });
    if (Item === undefined) return undefined;
    const { pk: _pk, sk: _sk, ...attributes } = Item as Json;
    return attributes;
  }

  update(UpdateExpression: string, values?: Json, more: Json = {}): Json {
    return this.ok("UpdateItem", { ...updateOf(UpdateExpression, values), ...more });
  }

  updateFault(UpdateExpression: string, values?: Json, more: Json = {}): string {
    return this.fault("UpdateItem", { ...updateOf(UpdateExpression, values), ...more });
  }

  /** Whether the condition holds for the item under `a`. */
  holds(ConditionExpression: string, values?: Json): boolean {
    const { status } = this.dynamodb.handle("UpdateItem", {
      TableName: "table",
      ...conditionOf(ConditionExpression, values),
    });
    return status === 200;
  }

  conditionFault(ConditionExpression: string, values?: Json): string {
    return this.fault("UpdateItem", conditionOf(ConditionExpression, values));
  }
}

/** The key of the item under `sk`. */
export function keyOf(sk = "a"): Json {
  return { pk: { S: "p" }, sk: { S: sk } };
}

function updateOf(UpdateExpression: string, values: Json | undefined): Json {
  const ExpressionAttributeValues = values;
  return { Key: keyOf(), UpdateExpression, ...(values && { ExpressionAttributeValues }) };
}

function conditionOf(ConditionExpression: string, values: Json | undefined): Json {
  const ExpressionAttributeValues = values;
  return { Key: keyOf(), ConditionExpression, ...(values && { ExpressionAttributeValues }) };
}
