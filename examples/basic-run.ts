/**
 * Holds a lock while a piece of work runs, and shows what another process sees meanwhile.
 *
 * What it does not show: what to do when a lock is lost in the middle of the work. That is in
 * long-job-with-signal.ts; how to keep a late write from landing is in guarded-transaction.ts.
 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast, mutex } from "holdfast";
import { createTable } from "holdfast/table";

// Region, credentials and endpoint come from the environment, as with every client of the SDK.
const client = new DynamoDBClient({});
const table = process.env["HOLDFAST_TABLE"] ?? "locks";
await createTable({ client, table }); // once, with permissions that holders of locks do not need

const locks = new Holdfast({ client, table, owner: "the first process" });
const others = new Holdfast({ client, table, owner: "another process" });

const total = await mutex(locks, "customer/42").run(async (lease) => {
  console.log(`${lease.name} is held by ${lease.owner}`);

  // Whoever will not wait asks with tryAcquire: null means that somebody has it.
  const refused = await mutex(others, "customer/42").tryAcquire();
  console.log(`another process gets ${refused}`);

  // Ask right before an effect: after a long pause this throws, and the effect does not happen.
  lease.assertHeld();
  return 17 + 25;
});
console.log(`the work resolved to ${total}`);

const lease = await mutex(others, "customer/42").acquire({ wait: "5s" });
console.log(`released, it is held by ${lease.owner}`);
await lease.release();

await Promise.all([locks.close(), others.close()]);
