/**
 * A Lambda function for a batch of SQS messages, with a lock for each customer. A message whose customer is busy goes back to
 * the queue alone: the function reports it in `batchItemFailures`, and SQS deletes the others. Set `ReportBatchItemFailures`
 * on the event source, or SQS delivers the whole batch again.
 *
 * Not given: exactly once. A function that dies after the work delivers the message again.
 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import { Holdfast, type Lease, mutex } from "holdfast";
import { createTable } from "holdfast/table";

const client = new DynamoDBClient({});
const table = process.env["HOLDFAST_TABLE"] ?? "locks";
const locks = new Holdfast({ client, table });
// The time for the release, and for the answer to SQS.
const MARGIN_MS = 500;
// With less time left, a message is not begun.
const LEAST_MS = 1_000;

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
  let lease: Lease | null = null;
  // Every error is one message's own: an error of the handler would return the whole batch, with the messages done.
  try {
    const leaseMs = context.getRemainingTimeInMillis() - MARGIN_MS;
    if (leaseMs < LEAST_MS) throw new Error("too little time is left");
    const { customer } = JSON.parse(record.body) as { readonly customer: string };
    // A frozen function does not renew, so the lease lasts as long as the invocation.
    const options = { lease: leaseMs, renew: "manual" } as const;
    lease = await mutex(locks, `customer/${customer}`).tryAcquire(options);
    if (lease === null) throw new Error(`customer ${customer} is busy`);
    await bill(record, lease);
    return true;
  } catch (error) {
    console.log(`${record.messageId}: ${(error as Error).message}`);
    return false;
  } finally {
    // After a failed release the lock is free when the lease ends.
    await lease?.release().catch(() => undefined);
  }
}

async function bill(record: SQSRecord, lease: Lease): Promise<void> {
  lease.assertHeld(); // before every effect; what it writes should carry condition(lease)
  console.log(`${record.messageId}: billed`);
}

// What Lambda does: one customer is busy elsewhere.
await createTable({ client, table });
const elsewhere = await mutex(locks, "customer/42").acquire();
const recordOf = (messageId: string, body: string) => ({ messageId, body }) as SQSRecord;
const bodyOf = (customer: string) => JSON.stringify({ customer });
let leftMs = 10_000;
const response = await handler(
  {
    Records: [
      recordOf("m1", bodyOf("7")),
      recordOf("m2", bodyOf("42")),
      recordOf("m3", "not JSON"),
      recordOf("m4", bodyOf("8")),
      recordOf("m5", bodyOf("9")),
    ],
  },
  // The last message finds too little time.
  { getRemainingTimeInMillis: () => (leftMs -= 1_800) } as Context,
);
console.log(JSON.stringify(response));
await elsewhere.release();
await locks.close();
