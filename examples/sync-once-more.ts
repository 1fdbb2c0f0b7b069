/**
 * A service of several replicas copies a repository on each webhook: now, or once more when the present copy ends. A
 * webhook during a copy is not lost, and does not wait: one further copy follows, however many webhooks come, with the
 * latest revision.
 *
 * Not given: a copy for each webhook. If all replicas die during a copy, the next webhook or a schedule with `runOwed` pays
 * what is owed.
 */
import { setTimeout as pause } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast, type Lease } from "holdfast";
import { coalesce } from "holdfast/coalesce";
import { createTable } from "holdfast/table";

const client = new DynamoDBClient({});
const table = process.env["HOLDFAST_TABLE"] ?? "locks";
const replicas = {
  a: new Holdfast({ client, table, owner: "replica a" }),
  b: new Holdfast({ client, table, owner: "replica b" }),
};

// What the replicas copy, and the copy. In a service, the transaction that writes it has `condition(lease)`.
let revision = 0;
let copied = 0;
let begun = 0;
let runs = 0;

async function copy({ owner, signal }: Lease): Promise<void> {
  const seen = revision;
  begun += 1;
  console.log(`${owner} copies revision ${seen}`);
  await pause(1_000, undefined, { signal });
  copied = seen;
  runs += 1;
}

async function onWebhook(replica: keyof typeof replicas): Promise<void> {
  revision += 1;
  const who = `webhook ${revision} of replica ${replica}`;
  const result = await coalesce(replicas[replica], "sync/repository-7", copy);
  console.log(result.ran ? `${who}: done` : `${who}: a copy by ${result.by} follows`);
}

// What the repository does: four webhooks, three of them during the first copy.
await createTable({ client, table });
const first = onWebhook("a");
while (begun === 0) await pause(10);
await onWebhook("b");
await onWebhook("a");
await onWebhook("b");
await first;
await replicas.a.drain(); // at the end of a process; a service goes on
console.log(`the copy has revision ${copied} after ${runs} copies`);
await Promise.all(Object.values(replicas).map((locks) => locks.close()));
