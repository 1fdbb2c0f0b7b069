import { describe, expect, it } from "vitest";
import { Holdfast, isHoldfastError, mutex } from "../../../src/index.js";
import { DynamoDBTable } from "../../../src/platform/dynamodb/table.js";
import { wellFormed } from "../../../src/platform/dynamodb/well-formed.js";
import type { Item, Write } from "../../../src/platform/table.js";

const KEY = { pk: { S: "lock#a" } };
const CALL = { timeoutMs: 1_000 };
const WRITE: Write = {
  key: KEY,
  condition: { kind: "absent", attribute: "holder" },
  change: { set: { holder: { S: "me" } }, remove: [] },
};

/** A client whose every answer is this output, or this error. */
const clientOf = (answer: object) => ({
  config: {},
  send: () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)),
});
const tableOf = (answer: object) => new DynamoDBTable(clientOf(answer), "locks");
const failed = (name: string, more: object) => Object.assign(new Error("refused"), { name }, more);

const nested = (value: unknown) => ({ data: { M: { list: { L: [{ M: { deep: value } }] } } } });
const WRONG: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["text", "x"],
  ["a text that is a number", { S: 1 }],
  ["a number that is null", { N: null }],
  ["a map that is null", { M: null }],
  ["a list that is a text", { L: "x" }],
  ["a set that is a number", { SS: 1 }],
  ["bytes that are a text", { B: "AA==" }],
];

describe("an answer with an attribute", () => {
  it.each(WRONG)("is no answer, in every operation: %s", async (_, value) => {
    for (const item of [
      { ...KEY, v: value },
      { ...KEY, ...nested(value) },
    ]) {
      const output = { Attributes: item, Item: item, Items: [item] };
      const refusal = failed("ConditionalCheckFailedException", { Item: item });
      const reasons = [{ Code: "ConditionalCheckFailed", Item: item }];
      const cancelled = failed("TransactionCanceledException", { CancellationReasons: reasons });
      const answers = await Promise.all([
        tableOf(output).write(WRITE, CALL),
        tableOf(refusal).write(WRITE, CALL),
        tableOf(output).read({ key: KEY, consistent: true }, CALL),
        tableOf(output).scan({ prefixes: [] }, CALL),
        tableOf(cancelled).transact({ writes: [WRITE], token: "t" }, CALL),
      ]);
      expect(answers.map(({ kind }) => kind)).toEqual(Array(5).fill("unknown"));
    }
  });

  it("is passed on with a type of a later DynamoDB, and with every known type", async () => {
    const item = {
      ...{ S: { S: "" }, N: { N: "1" }, B: { B: new Uint8Array(1) }, BOOL: { BOOL: true } },
      ...{ NULL: { NULL: true }, M: { M: {} }, L: { L: [{ N: "1" }] }, SS: { SS: ["a"] } },
      ...{ NS: { NS: ["1"] }, BS: { BS: [new Uint8Array(1)] }, later: { X: 1 } },
    } as unknown as Item;
    const answer = { kind: "refused", item } as const;
    expect(wellFormed(answer)).toBe(answer);
  });

  it("is read without recursion", () => {
    let value: object = { L: [] };
    for (let depth = 0; depth < 100_000; depth += 1) value = { L: [value] };
    const answer = { kind: "refused", item: { data: value } as unknown as Item } as const;
    expect(wellFormed(answer)).toBe(answer);
  });
});

it("an acquisition from a server that sends a null attribute rejects with a code", async () => {
  const client = clientOf({ Attributes: { pk: {}, v: null } });
  const options = { requestTimeout: "50ms", closeTimeout: "50ms", onError: () => undefined };
  const locks = new Holdfast({ client, table: "locks", ...options });
  const error: unknown = await mutex(locks, "a", { lease: "1s" })
    .tryAcquire()
    .catch((e) => e);
  expect(isHoldfastError(error, "unreachable")).toBe(true);
  await locks.close().catch(() => undefined);
});
