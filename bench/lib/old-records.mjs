// A table with a history: a given number of records of free locks, each in the form that a released lock
// leaves.
import {
  BatchWriteItemCommand,
  DeleteTableCommand,
  GetItemCommand,
} from "@aws-sdk/client-dynamodb";
import { Holdfast, mutex } from "../../packages/holdfast/dist/index.js";
import { createTable } from "../../packages/holdfast/dist/table/index.js";
import { inParallel } from "./ways.mjs";

/** The limit of BatchWriteItem. */
const MOST_A_BATCH = 25;
const LANES = 4;

const keyOf = (name) => ({ pk: { S: `lock#${name}` }, sk: { S: "lease" } });

/** The record of a lock that was acquired and released, without its key. */
export async function releasedRecord(client, table) {
  const name = "pattern-of-the-old";
  const locks = new Holdfast({ client, table });
  await (await mutex(locks, name).acquire()).release();
  await locks.close();
  const { Item } = await client.send(
    new GetItemCommand({ TableName: table, Key: keyOf(name), ConsistentRead: true }),
  );
  const { pk, sk, ...attributes } = Item;
  if (attributes.holder !== undefined) throw new Error(`${name} was not released.`);
  return attributes;
}

/** Creates the table, with `count` records named `old-0` and so on. */
export async function createOldTable(client, { table, count, record }) {
  await createTable({ client, table });
  const starts = Array.from(
    { length: Math.ceil(count / MOST_A_BATCH) },
    (_, at) => at * MOST_A_BATCH,
  );
  await inParallel(LANES, starts, async (start) => {
    const length = Math.min(MOST_A_BATCH, count - start);
    const puts = Array.from({ length }, (_, at) => ({
      PutRequest: { Item: { ...keyOf(`old-${start + at}`), ...record } },
    }));
    const { UnprocessedItems } = await client.send(
      new BatchWriteItemCommand({ RequestItems: { [table]: puts } }),
    );
    if (Object.keys(UnprocessedItems ?? {}).length > 0) {
      throw new Error(`Not every record of ${table} was written.`);
    }
  });
}

export const deleteTable = (client, table) =>
  client.send(new DeleteTableCommand({ TableName: table }));
