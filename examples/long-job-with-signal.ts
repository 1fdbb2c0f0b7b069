/**
 * A long job that stops when its lock is lost, whatever it waits for at that moment. Here an operator
 * frees the lock under it; a network that fails, or a process that hangs, ends in the same way.
 *
 * What the signal cannot do: undo what was done between the loss and its being noticed. What must not
 * be written by a former holder carries `condition(lease)`: see guarded-transaction.ts.
 */
import { setTimeout as pause } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast, isHoldfastError, type Lease, mutex } from "holdfast";
import { releaseByHolder } from "holdfast/admin";
import { createTable } from "holdfast/table";

const client = new DynamoDBClient({});
const table = process.env["HOLDFAST_TABLE"] ?? "locks";
await createTable({ client, table });

const locks = new Holdfast({ client, table });
const operator = new Holdfast({ client, table });
let stepsDone = 0;

async function job(lease: Lease): Promise<void> {
  try {
    for (let step = 1; step <= 50; step += 1) {
      // Before each step the clocks are asked, which needs no timer to have fired.
      lease.signal.throwIfAborted();
      // Within a step the signal ends the wait. `fetch` and the SDK take a signal as well.
      await pause(100, undefined, { signal: lease.signal });
      stepsDone = step;
      if (step === 3) {
        console.log("three steps are done; an operator frees the lock");
        await releaseByHolder(operator, lease.name, lease.holder);
      }
    }
  } catch (error) {
    // What a signal cuts off rejects with an error of its own kind: tell the loss instead.
    lease.assertHeld();
    throw error;
  }
}

try {
  // A short lease, so that the loss is noticed soon: at the next renewal, a third of it later.
  await mutex(locks, "nightly-report").run({ lease: "1500ms", wait: "10s" }, job);
  console.log("done");
} catch (error) {
  if (!isHoldfastError(error, "lost")) throw error;
  console.log(`stopped: ${error.reason}`);
  console.log(`all 50 steps were done: ${stepsDone === 50}`);
}

await Promise.all([locks.close(), operator.close()]);
