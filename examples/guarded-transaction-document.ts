/**
 * The same as guarded-transaction.ts with the document client of lib-dynamodb: plain values. `condition(lease)` has them, too,
 * because Holdfast was given the document client.
 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import { condition, Holdfast, isRefusedByLock, type Lease, mutex } from "holdfast";
import { createTable } from "holdfast/table";

const client = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const table = process.env["HOLDFAST_TABLE"] ?? "locks";
await createTable({ client, table });

async function setBalance(lease: Lease, balance: number): Promise<"written" | "refused"> {
  const Item = { pk: "balance#42", sk: "balance", balance, fence: lease.fence };
  try {
    await client.send(
      new TransactWriteCommand({
        TransactItems: [condition(lease), { Put: { TableName: table, Item } }],
      }),
    );
    return "written";
  } catch (error) {
    if (isRefusedByLock(error, 0)) return "refused";
    throw error;
  }
}

// The document client serves for the locks, too.
const locks = new Holdfast({ client, table });

const lease = await mutex(locks, "customer/42").acquire({ wait: "10s" });
console.log(`while it is held: ${await setBalance(lease, 100)}`);
await lease.release();
console.log(`after its release: ${await setBalance(lease, 0)}`);

await locks.close();
