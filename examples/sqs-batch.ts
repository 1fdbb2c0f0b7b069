/**
 * A Lambda function for a batch of SQS messages, with a lock for each customer. A message whose customer is busy goes back to
 * the queue alone: the function reports it in `batchItemFailures`, and SQS deletes the others. Set `ReportBatchItemFailures`
 * on the event source, or SQS delivers the whole batch again.
 *
 * Not given: exactly once. A function that dies after the work delivers the message again.
 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import { Holdfast, type Lease } from "holdfast";
import { createTable } from "holdfast/table";

const client = new DynamoDBClient({});
const table = process.env["HOLDFAST_TABLE"] ?? "locks";
const locks = new Holdfast({ client, table });
// The time for the release, and for the answer to SQS.
const MARGIN_MS = 500;

export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const batchItemFailures: SQSBatchResponse["batchItemFailures"] = [];
  for (const record of event.Records) {
    if (!(await isDone(record, context))) {
      batchItemFailures.push({ itemIdentifier: record.messageId });
    }
  }
  return { batchItemFailures };
}

/** Whether the message is done. If not, SQS delivers it again after its visibility timeout. */
async function isDone(record: SQSRecord, context: Context): Promise<boolean> {
  const { customer } = JSON.parse(record.body) as { readonly customer: string };
  // A frozen function does not renew, so the lease lasts as long as the invocation.
  const lease = await locks.mutex(`customer/${customer}`).tryAcquire({
    lease: context.getRemainingTimeInMillis() - MARGIN_MS,
    renew: "manual",
  });
  if (lease === null) {
    console.log(`${record.messageId}: customer ${customer} is busy`);
    return false;
  }
  try {
    await bill(record, lease);
    return true;
  } catch (error) {
    console.log(`${record.messageId}: ${String(error)}`);
    return false;
  } finally {
    // After a failed release the lock is free when the lease ends.
    await lease.release().catch(() => undefined);
  }
}

async function bill(record: SQSRecord, lease: Lease): Promise<void> {
  lease.assertHeld(); // before every effect; what it writes should carry lease.condition()
  console.log(`${record.messageId}: billed`);
}

// What Lambda does: one customer is busy elsewhere.
await createTable({ client, table });
const elsewhere = await locks.mutex("customer/42").acquire();
const recordOf = (messageId: string, customer: string) =>
  ({ messageId, body: JSON.stringify({ customer }) }) as SQSRecord;
const response = await handler(
  { Records: [recordOf("m1", "7"), recordOf("m2", "42"), recordOf("m3", "8")] },
  { getRemainingTimeInMillis: () => 10_000 } as Context,
);
console.log(JSON.stringify(response));
await elsewhere.release();
await locks.close();
