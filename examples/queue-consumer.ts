/**
 * Two consumers of one queue, and never two messages of one customer at the same time. Whoever finds the
 * customer's lock held puts the message back, and goes on with another one: a consumer that waited would
 * keep a message invisible, and itself idle, for somebody else's work.
 *
 * What it does not give: order among the messages of a customer (a FIFO queue does), nor exactly once. A
 * consumer that dies between its work and `delete` leaves a message that comes again, so the work must
 * bear being done twice.
 */
import { setTimeout as pause } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast, type Lease, mutex } from "holdfast";
import { createTable } from "holdfast/table";

interface Message {
  readonly id: string;
  readonly customer: string;
  readonly workMs: number;
}

interface Received extends Message {
  /** Names this one delivery; of no use once the message is visible again. */
  readonly receipt: number;
}

/** As much of SQS as is needed: what was received is invisible to others for a while. */
class Queue {
  readonly #entries = new Map<string, { message: Message; visibleAtMs: number; receipt: number }>();
  #receipts = 0;

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  send(message: Message): void {
    this.#entries.set(message.id, { message, visibleAtMs: 0, receipt: 0 });
  }

  receive(visibilityMs: number): Received | undefined {
    const nowMs = performance.now();
    const entry = [...this.#entries.values()].find(({ visibleAtMs }) => visibleAtMs <= nowMs);
    if (entry === undefined) return undefined;
    this.#receipts += 1;
    entry.receipt = this.#receipts;
    entry.visibleAtMs = nowMs + visibilityMs;
    return { ...entry.message, receipt: entry.receipt };
  }

  changeVisibility(received: Received, visibilityMs: number): void {
    const entry = this.#entries.get(received.id);
    if (entry?.receipt === received.receipt) entry.visibleAtMs = performance.now() + visibilityMs;
  }

  delete(received: Received): void {
    if (this.#entries.get(received.id)?.receipt === received.receipt) {
      this.#entries.delete(received.id);
    }
  }
}

const VISIBILITY_MS = 10_000;
const PUT_BACK_MS = 100;

async function consume(worker: string, locks: Holdfast, queue: Queue): Promise<void> {
  while (!queue.isEmpty) {
    const received = queue.receive(VISIBILITY_MS);
    if (received === undefined) {
      await pause(20);
      continue;
    }
    const { id, customer } = received;
    const lease = await mutex(locks, `customer/${customer}`).tryAcquire();
    if (lease === null) {
      console.log(`${worker}: customer ${customer} is busy, puts ${id} back`);
      queue.changeVisibility(received, PUT_BACK_MS);
      continue;
    }
    try {
      await work(worker, received, lease);
      // Lost meanwhile, the message is left to become visible again: somebody else may be at it.
      lease.assertHeld();
      queue.delete(received);
    } finally {
      await lease.release();
    }
  }
}

async function work(worker: string, received: Received, lease: Lease): Promise<void> {
  const { id, customer, workMs } = received;
  console.log(`${worker}: begins ${id} of customer ${customer}`);
  // The signal ends the work when the lock is lost; what it writes should carry condition(lease).
  await pause(workMs, undefined, { signal: lease.signal });
  console.log(`${worker}: ends ${id} of customer ${customer}`);
}

const client = new DynamoDBClient({});
const table = process.env["HOLDFAST_TABLE"] ?? "locks";
await createTable({ client, table });

const queue = new Queue();
queue.send({ id: "m1", customer: "42", workMs: 400 });
queue.send({ id: "m2", customer: "42", workMs: 50 });
queue.send({ id: "m3", customer: "7", workMs: 50 });

// Two clients, as two processes would have them.
const clients = [new Holdfast({ client, table }), new Holdfast({ client, table })];
await Promise.all(clients.map((locks, index) => consume(`worker ${index + 1}`, locks, queue)));
console.log("the queue is empty");

await Promise.all(clients.map((locks) => locks.close()));
