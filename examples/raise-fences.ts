/**
 * Raises the fences of a restored table, before any client uses it: the fences granted since the backup would be granted a
 * second time. Set HOLDFAST_TABLE, stop every process that takes locks in the table, and run this once.
 */
import { DynamoDBClient, paginateScan, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { Holdfast, mutex } from "holdfast";
import { createTable } from "holdfast/table";

const client = new DynamoDBClient({});
const table = process.env["HOLDFAST_TABLE"] ?? "locks";
await createTable({ client, table }); // changes nothing in the restored table
const locks = new Holdfast({ client, table });
// Shows the effect. In production, take no lock before the fences are raised.
const before = await mutex(locks, "customer/42").run((lease) => lease.fence);

const raised = BigInt(Date.now() + 24 * 3_600_000);
const pages = paginateScan(
  { client },
  {
    TableName: table,
    // Records of every kind, such as `leader#` and `once#`. A note of the history has a fence, but no version.
    FilterExpression: "attribute_exists(version) AND fence < :raised",
    ExpressionAttributeValues: { ":raised": { N: `${raised}` } },
  },
);
for await (const { Items: items = [] } of pages) {
  for (const { pk, sk } of items) {
    if (pk === undefined || sk === undefined) continue;
    await client.send(
      new UpdateItemCommand({
        TableName: table,
        Key: { pk, sk },
        UpdateExpression: "SET fence = :raised",
        ConditionExpression: "fence < :raised",
        ExpressionAttributeValues: { ":raised": { N: `${raised}` } },
      }),
    );
  }
}

const after = await mutex(locks, "customer/42").run((lease) => lease.fence);
console.log(`the next fence is higher: ${after > before && after > raised}`);
await locks.close();
