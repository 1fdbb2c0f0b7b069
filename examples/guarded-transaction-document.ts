/**
 * The same as guarded-transaction.ts with the document client of lib-dynamodb: plain values, and
 * `lease.condition({ document: true })`.
 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import { Holdfast, type Lease } from "holdfast";
import { createTable } from "holdfast/table";

const client = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const table = process.env["HOLDFAST_TABLE"] ?? "locks";
await createTable({ client, table });

async function setBalance(lease: Lease, balance: number): Promise<"written" | "refused"> {
  const Item = { pk: "balance#42", sk: "balance", balance, fence: lease.fence };
  try {
    await client.send(
      new TransactWriteCommand({
        TransactItems: [lease.condition({ document: true }), { Put: { TableName: table, Item } }],
      }),
    );
    return "written";
  } catch (error) {
    const { name, CancellationReasons: reasons } = error as {
      name?: string;
      CancellationReasons?: { Code?: string }[];
    };
    const isRefused =
      name === "TransactionCanceledException" && reasons?.[0]?.Code === "ConditionalCheckFailed";
    if (isRefused) return "refused";
    throw error;
  }
}

// The document client serves for the locks, too.
const locks = new Holdfast({ client, table });

const lease = await locks.mutex("customer/42").acquire({ wait: "10s" });
console.log(`while it is held: ${await setBalance(lease, 100)}`);
await lease.release();
console.log(`after its release: ${await setBalance(lease, 0)}`);

await locks.close();
