import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listQueue } from "../../packages/holdfast/src/admin/index.js";
import { all, conditions, fairLock, type Holdfast } from "../../packages/holdfast/src/index.js";
import { DynamoDBTable } from "../../packages/holdfast/src/platform/dynamodb/table.js";
import type {
  Transacting,
  Transaction,
  Write,
} from "../../packages/holdfast/src/platform/table.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import { MemoryTable } from "../../packages/testing/src/table/memory-table.js";
import { describeOnBothServers } from "../support/dynamodb-local.js";
import { fencesOf } from "../support/parts.js";
import { eventually, freshTable, Lockers, sdkClient } from "../support/sdk.js";
import { WAYS, type Way } from "../support/ways.js";

const POLL = { min: "50ms", max: "200ms" };
const CALL = { timeoutMs: 20_000 };

const keyOf = (name: string) => ({ pk: { S: `lock#${name}` }, sk: { S: "lease" } });

function write(name: string, condition: Write["condition"], size: string): Write {
  return {
    key: keyOf(name),
    condition,
    change: { set: { size: { N: size }, count: { incrementFrom: "4" } }, remove: ["data"] },
  };
}

const ABSENT = { kind: "absent", attribute: "pk" } as const;
const sizeIs = (size: string): Write["condition"] => ({
  kind: "equals",
  attribute: "size",
  value: { N: size },
});

/** Each transaction depends on the earlier transactions. DynamoDB Local accepts the same item twice. */
const TRANSACTIONS: readonly Transaction[] = [
  { token: "1", writes: [write("p", ABSENT, "1"), write("q", ABSENT, "1")] },
  { token: "1", writes: [write("p", ABSENT, "1"), write("q", ABSENT, "1")] },
  { token: "2", writes: [write("p", ABSENT, "2"), write("q", sizeIs("1"), "2")] },
  { token: "2", writes: [write("p", sizeIs("1"), "3"), write("r", sizeIs("1"), "3")] },
  { token: "4", writes: [] },
  {
    token: "5",
    writes: [
      write("p", sizeIs("1"), "4"),
      {
        key: keyOf("q"),
        condition: sizeIs("1"),
        change: { set: {}, remove: [] },
        as: "delete",
      },
      {
        key: keyOf("s"),
        condition: ABSENT,
        change: { set: { size: { N: "7" } }, remove: [] },
        as: "put",
      },
    ],
  },
  { token: "6", writes: [write("q", sizeIs("1"), "5"), write("s", ABSENT, "5")] },
];

function multiLockSuite(endpoint: () => string): void {
  describe.each(WAYS)("$way", (way) => suiteOver(endpoint, way));
}

function suiteOver(endpoint: () => string, { over }: Way): void {
  const table = freshTable();
  const lockers = new Lockers();
  let client: DynamoDBClient;
  let way: ReturnType<typeof over>;
  const process = (options = {}): Holdfast =>
    lockers.make({ client: way, table, lease: 2_000, ...options }).locks;

  beforeAll(async () => {
    client = sdkClient(endpoint());
    way = over(client);
    await createTable({ client, table });
  });
  afterAll(async () => {
    await lockers.closeAll();
    client.destroy();
  });

  it("answers transactions like MemoryTable", async () => {
    const theirs = new DynamoDBTable(way, table);
    const memory = new MemoryTable({ keyAttributes: ["pk", "sk"], tellsDate: false });
    const kinds: string[] = [];
    for (const { token, writes } of TRANSACTIONS) {
      // The server remembers tokens across tables.
      const transaction = { token: `${token}-${table}`.slice(0, 36), writes };
      const told = async (send: Transacting) => {
        const { dateMs: _, ...answer } = await send(transaction, CALL);
        return answer.kind === "misconfigured" ? { kind: answer.kind } : answer;
      };
      const ours = await told((...given) => memory.transact(...given));
      expect(await told((...given) => theirs.transact(...given))).toEqual(ours);
      kinds.push(ours.kind);
      for (const name of ["p", "q", "r", "s"]) {
        const read = { key: keyOf(name), consistent: true };
        expect(await theirs.read(read, CALL)).toMatchObject(await memory.read(read, CALL));
      }
    }
    expect(kinds).toEqual([
      ...["applied", "applied", "refused", "refused"],
      ...["misconfigured", "applied", "refused"],
    ]);
  });

  it("grants all locks or none, in the order of arrival, and leaves no entry behind", async () => {
    // A place ends after the lease of its waiter. On a busy machine a process may be late by seconds.
    const [first, second, third, fourth] = [0, 1, 2, 3].map(() => process({ lease: "1m" })) as [
      ...[Holdfast, Holdfast, Holdfast, Holdfast],
    ];
    const held = await all(first, ["a", "b", "c"]).acquire();
    expect(await all(second, ["d", "c"]).tryAcquire()).toBeNull();
    const order: string[] = [];
    const done = [];
    for (const [who, locks, names] of [
      ["second", second, ["b", "a"]],
      ["third", third, ["c", "a", "b"]],
    ] as const) {
      const options = { wait: "30s", poll: POLL } as const;
      done.push(all(locks, names).run(options, async () => void order.push(who)));
      await eventually(async () => (await listQueue(first, "a")).waiters.length === done.length);
    }
    const single = fairLock(fourth, "b").run(
      { wait: "30s", poll: POLL },
      async () => void order.push("alone"),
    );
    await eventually(async () => (await listQueue(first, "b")).waiters.length === 3);
    await held.release();
    await Promise.all([...done, single]);
    expect(order).toEqual(["second", "third", "alone"]);
    for (const name of ["a", "b", "c"]) {
      await eventually(async () => (await listQueue(first, name)).waiters.length === 0);
    }
    const again = await all(first, ["a", "b", "c", "d"]).acquire({ wait: "10s", poll: POLL });
    expect(fencesOf(again).get("a")).toBe((fencesOf(held).get("a") ?? 0n) + 3n);
    expect(fencesOf(again).get("b")).toBe((fencesOf(held).get("b") ?? 0n) + 4n);
    await again.renew();
    expect(again.isHeld).toBe(true);
    await again.release();
  });

  it("guards a user's transaction with all conditions", async () => {
    const lease = await all(process(), ["x", "y"]).acquire();
    const put = (id: string) => ({
      Put: { TableName: table, Item: { pk: { S: `own#${id}` }, sk: { S: "x" } } },
    });
    const send = (id: string) =>
      client.send(
        new TransactWriteItemsCommand({ TransactItems: [...conditions(lease), put(id)] }),
      );
    await send("1");
    await lease.release();
    await expect(send("2")).rejects.toMatchObject({ name: "TransactionCanceledException" });
  });

  it("accepts 50 names, and waits for all locks", async () => {
    const names = Array.from({ length: 50 }, (_, index) => `n${index}`);
    const [one, other] = [process({ lease: "20s" }), process({ lease: "20s" })];
    const held = await all(one, names).acquire();
    const waiting = all(other, names).acquire({ wait: "30s", poll: POLL });
    await eventually(async () => (await listQueue(one, "n49")).waiters.length === 1);
    await held.release();
    const lease = await waiting;
    expect(fencesOf(lease).get("n7")).toBe((fencesOf(held).get("n7") ?? 0n) + 1n);
    await lease.release();
  });
}

describeOnBothServers("several locks", multiLockSuite);
