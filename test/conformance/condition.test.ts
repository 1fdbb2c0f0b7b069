import {
  type DynamoDBClient,
  GetItemCommand,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  condition,
  type GuardCondition,
  inspect,
  isRefusedByLock,
  type Lease,
  mutex,
} from "../../packages/holdfast/src/index.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import { describeOnBothServers } from "../support/dynamodb-local.js";
import { freshTable, Lockers, sdkClient } from "../support/sdk.js";

const MANUAL = { lease: "30s", renew: "manual", poll: { min: "10ms", max: "50ms" } } as const;

/** Writes an order in one transaction with the lease's condition, through one kind of client. */
type GuardedWrite = (guard: Lease | Forged, order: string) => Promise<unknown>;

/** A condition that no lease has. */
type Forged = (options?: { readonly document?: boolean }) => GuardCondition;

function requiredBy(guard: Lease | Forged, document?: true): GuardCondition {
  const options = document === undefined ? undefined : { document };
  return typeof guard === "function" ? guard(options) : condition(guard, options);
}

/** The tests for every server. */
function conditionSuite(endpointOf: () => string): void {
  const table = freshTable();
  const lockers = new Lockers();
  let client: DynamoDBClient;
  let documents: DynamoDBDocumentClient;
  let locks: ReturnType<typeof lockers.make>["locks"];
  let rival: typeof locks;

  beforeAll(async () => {
    client = sdkClient(endpointOf());
    documents = DynamoDBDocumentClient.from(client);
    await createTable({ client, table });
    locks = lockers.make({ client, table }).locks;
    rival = lockers.make({ client, table }).locks;
  });
  afterAll(async () => {
    await lockers.closeAll();
    client.destroy();
  });

  const throughLowLevel: GuardedWrite = (guard, order) =>
    client.send(
      new TransactWriteItemsCommand({
        TransactItems: [
          requiredBy(guard),
          { Put: { TableName: table, Item: { pk: { S: order }, sk: { S: "order" } } } },
        ],
      }),
    );
  const throughDocuments: GuardedWrite = (guard, order) =>
    documents.send(
      new TransactWriteCommand({
        TransactItems: [
          requiredBy(guard, true),
          { Put: { TableName: table, Item: { pk: order, sk: "order" } } },
        ],
      }),
    );
  const isWritten = async (order: string): Promise<boolean> => {
    const Key = { pk: { S: order }, sk: { S: "order" } };
    const command = new GetItemCommand({ TableName: table, Key, ConsistentRead: true });
    return (await client.send(command)).Item !== undefined;
  };

  const REFUSED = {
    name: "TransactionCanceledException",
    CancellationReasons: [{ Code: "ConditionalCheckFailed" }, { Code: "None" }],
  };
  const WAYS: [string, GuardedWrite][] = [
    ["the low-level client", throughLowLevel],
    ["lib-dynamodb", throughDocuments],
  ];

  describe.each(WAYS)("through %s", (way, write) => {
    it("commits while the lock is held, also after renewals and further changes", async () => {
      const lease = await mutex(locks, `held ${way}`).acquire(MANUAL);
      await write(lease, `first ${way}`);
      await lease.renew({ lease: "40s", data: { n: 1 } });
      await write(lease, `second ${way}`);
      expect(await isWritten(`first ${way}`)).toBe(true);
      expect(await isWritten(`second ${way}`)).toBe(true);
    });

    it("is cancelled after a takeover, even without any check of the lease", async () => {
      const lease = await mutex(locks, `taken ${way}`).acquire({ ...MANUAL, lease: "200ms" });
      const next = await mutex(rival, `taken ${way}`).acquire(MANUAL);
      const error = await write(lease, `late ${way}`).catch((caught: unknown) => caught);
      expect(error).toMatchObject(REFUSED);
      expect([isRefusedByLock(error, 0), isRefusedByLock(error, 1)]).toEqual([true, false]);
      expect(await isWritten(`late ${way}`)).toBe(false);
      await write(next, `next ${way}`);
      expect(await isWritten(`next ${way}`)).toBe(true);
    });

    it("is cancelled after the release, even if the same process holds the lock again", async () => {
      const lease = await mutex(locks, `released ${way}`).acquire(MANUAL);
      await lease.release();
      await expect(write(lease, `after ${way}`)).rejects.toMatchObject(REFUSED);
      await mutex(locks, `released ${way}`).acquire(MANUAL);
      await expect(write(lease, `again ${way}`)).rejects.toMatchObject(REFUSED);
    });

    // rule: protocol 44
    it("is cancelled by a different fence, with the same holder", async () => {
      const lease = await mutex(locks, `fence ${way}`).acquire(MANUAL);
      const forged = withAnotherFence(lease);
      await expect(write(forged, `forged ${way}`)).rejects.toMatchObject(REFUSED);
      expect(await isWritten(`forged ${way}`)).toBe(false);
    });
  });

  it("is in the form of the client that Holdfast was given", async () => {
    const ofDocuments = lockers.make({ client: documents, table }).locks;
    const lease = await mutex(ofDocuments, "documents").acquire(MANUAL);
    await documents.send(
      new TransactWriteCommand({
        TransactItems: [
          condition(lease),
          { Put: { TableName: table, Item: { pk: "of documents", sk: "order" } } },
        ],
      }),
    );
    await throughLowLevel(() => condition(lease, { document: false }), "low");
    expect(await isWritten("of documents")).toBe(true);
    expect(await isWritten("low")).toBe(true);
  });

  it("checks the record without a write", async () => {
    const lease = await mutex(locks, "unchanged").acquire(MANUAL);
    const before = await inspect(locks, "unchanged");
    await throughLowLevel(lease, "unchanged");
    const after = await inspect(locks, "unchanged");
    // How long is left changes from read to read.
    const times = { acquirableInMs: 0, endsInMs: 0 };
    expect({ ...after, ...times }).toEqual({ ...before, ...times });
  });
}

/** The lease's condition, with a fence one higher. */
function withAnotherFence(lease: Lease): Forged {
  return (options) => {
    const fence = lease.fence.toString();
    const other = (lease.fence + 1n).toString();
    const check = condition(lease, options).ConditionCheck;
    const changed = Object.entries(check.ExpressionAttributeValues).map(([name, value]) => {
      if (value === BigInt(fence)) return [name, BigInt(other)];
      if (typeof value === "object" && "N" in value) return [name, { N: other }];
      return [name, value];
    });
    return {
      ConditionCheck: { ...check, ExpressionAttributeValues: Object.fromEntries(changed) },
    } as GuardCondition;
  };
}

describeOnBothServers("a guarded transaction", conditionSuite);
