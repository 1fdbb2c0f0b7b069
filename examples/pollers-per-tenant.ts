/**
 * A service polls a queue for each of its tenants. The replicas share the tenants: a second one takes its half when it comes,
 * and all of them when the first one stops. No tenant has two pollers at a time, and none is forgotten.
 *
 * Not given: a poller that goes on although its signal has aborted still works beside the next one. A real poller passes the
 * signal to its requests.
 */
import { setTimeout as pause } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast, type Lease } from "holdfast";
import { type Assignment, assign } from "holdfast/assign";
import { createTable } from "holdfast/table";

const client = new DynamoDBClient({});
const table = process.env["HOLDFAST_TABLE"] ?? "locks";
const tenants = ["acme", "brava", "cielo", "delta", "ember", "fjord"];

async function poll(tenant: string, { owner, signal }: Lease): Promise<void> {
  console.log(`${owner} polls ${tenant}`);
  while (!signal.aborted) {
    // In a service: receive messages, with the signal, and handle them.
    await pause(50, undefined, { signal }).catch(() => undefined);
  }
  console.log(`${owner} leaves ${tenant}`);
}

// A period of a second shows it sooner. In a service the default of ten seconds costs a tenth.
function replica(name: string): { readonly locks: Holdfast; readonly pollers: Assignment } {
  const locks = new Holdfast({ client, table, owner: `replica ${name}` });
  const names = () => tenants; // in a service: from its database
  return { locks, pollers: assign(locks, "pollers", { names, run: poll, period: "1s" }) };
}

await createTable({ client, table });
const a = replica("a");
await a.pollers.start();
console.log(`one replica: ${a.pollers.mine.length} tenants`);

const b = replica("b");
await b.pollers.start();
while (b.pollers.mine.length < 3) await pause(100);
console.log(`two replicas: ${a.pollers.mine.length} and ${b.pollers.mine.length} tenants`);

await a.pollers.stop(); // on SIGTERM
while (b.pollers.mine.length < 6) await pause(100);
console.log(`replica a has stopped: ${a.pollers.mine.length} and ${b.pollers.mine.length} tenants`);

await b.pollers.stop();
await Promise.all([a.locks.close(), b.locks.close()]);
