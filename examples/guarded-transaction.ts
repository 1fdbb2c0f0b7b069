/**
 * A write that only the present holder can make, with the low-level client: the lease's condition and the
 * write go into one transaction. A holder that was taken over, and does not know it yet, is refused by
 * the table itself.
 *
 * What it needs: lock and data in the same account and region. For other stores see docs/fencing.md.
 */
import { DynamoDBClient, TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { condition, Holdfast, isRefusedByLock, type Lease, mutex } from "holdfast";
import { createTable } from "holdfast/table";

const client = new DynamoDBClient({});
const table = process.env["HOLDFAST_TABLE"] ?? "locks";
await createTable({ client, table });

/** Sets a customer's balance, if the lease is still the one that holds the lock. */
async function setBalance(lease: Lease, balance: number): Promise<"written" | "refused"> {
  const command = new TransactWriteItemsCommand({
    TransactItems: [
      condition(lease),
      {
        Put: {
          // The table of the locks will do for an example; any table of the account and region will.
          TableName: table,
          Item: {
            pk: { S: "balance#42" },
            sk: { S: "balance" },
            balance: { N: String(balance) },
            fence: { N: String(lease.fence) },
          },
        },
      },
    ],
  });
  try {
    await client.send(command);
    return "written";
  } catch (error) {
    // The lease's condition is the first element.
    if (isRefusedByLock(error, 0)) return "refused";
    throw error;
  }
}

const first = new Holdfast({ client, table });
const second = new Holdfast({ client, table });

// Renewed by hand, and never: as if this process hung from here on. One hangs for longer in earnest.
const former = await mutex(first, "customer/42").acquire({ lease: "500ms", renew: "manual" });
console.log(`the first holder, before: ${await setBalance(former, 100)}`);

const present = await mutex(second, "customer/42").acquire({ wait: "10s" });
console.log(`the first holder, after a takeover: ${await setBalance(former, 0)}`);
console.log(`the second holder: ${await setBalance(present, 200)}`);
console.log(`the second fence is higher: ${present.fence > former.fence}`);

await present.release();
await Promise.all([first.close(), second.close()]);
