import { describe, expect, it } from "vitest";
import { DynamoDBTable } from "../../../src/platform/dynamodb/table.js";
import type { Condition, Item } from "../../../src/platform/table.js";

const CALL = { timeoutMs: 1_000 };
const ABSENT: Condition = { kind: "absent", attribute: "pk" };
const keyOf = (name: string): Item => ({ pk: { S: name } });
const writeOf = (name: string) => ({
  key: keyOf(name),
  condition: ABSENT,
  change: { set: { a: { S: "1" } }, remove: [] },
});

/** The SDK's exception when the SDK cannot parse a refusal. */
const unread = (attempts = 1): Error =>
  Object.assign(new TypeError("Cannot read properties of undefined"), {
    $metadata: { httpStatusCode: 400, attempts },
  });

interface Sent {
  readonly input: { readonly Key?: Item; readonly ConsistentRead?: boolean };
}

/** Refuses every write so, and reads these items. */
function tableOf(items: Readonly<Record<string, Item>>, refusal: () => Error = unread) {
  const reads: Sent["input"][] = [];
  const client = {
    config: {},
    async send(command: never): Promise<unknown> {
      const { input } = command as Sent;
      if (input.ConsistentRead === undefined) throw refusal();
      reads.push(input);
      const { pk } = input.Key as { pk: { S: string } };
      return { Item: items[pk.S] };
    },
  };
  return { table: new DynamoDBTable(client, "locks"), reads };
}

describe("an unreadable refusal", () => {
  const item = { ...keyOf("a"), owner: { S: "o" } };

  it.each(["update", "put", "delete"] as const)(
    "of an %s is resolved by a strongly consistent read",
    async (as) => {
      const { table, reads } = tableOf({ a: item });
      const answer = await table.write({ ...writeOf("a"), as }, CALL);
      expect(answer).toEqual({ kind: "refused", item });
      expect(reads).toMatchObject([{ Key: keyOf("a"), ConsistentRead: true }]);
    },
  );

  it("of the last of several sends leaves the first unknown", async () => {
    const { table, reads } = tableOf({ a: item }, () => unread(2));
    expect(await table.write(writeOf("a"), CALL)).toMatchObject({ kind: "unknown" });
    expect(reads).toEqual([]);
  });

  it("is unknown if the record has been deleted since", async () => {
    const { table } = tableOf({});
    expect(await table.write(writeOf("a"), CALL)).toMatchObject({ kind: "unknown" });
  });

  it("is unknown if reads fail in the same way", async () => {
    const client = {
      config: {},
      async send(): Promise<unknown> {
        throw unread();
      },
    };
    const table = new DynamoDBTable(client, "locks");
    expect(await table.write(writeOf("a"), CALL)).toMatchObject({
      kind: "misconfigured",
      error: { message: expect.stringContaining("(TypeError): Cannot read") },
    });
  });

  it("of a transaction is resolved by reading all its records", async () => {
    const { table, reads } = tableOf({ b: item });
    const writes = [writeOf("a"), writeOf("b")];
    expect(await table.transact({ writes, token: "t" }, CALL)).toEqual({
      kind: "refused",
      refusals: [{ item: undefined }, { item }],
      isReadLater: true,
    });
    expect(reads).toHaveLength(2);
  });
});
