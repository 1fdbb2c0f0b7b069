/**
 * A lock that a durable execution of AWS Lambda holds across its waits and replays, without a renewal. Its owner is the
 * execution; the steps store its holder id and its fence. Runs with the local test runner, and fails twice on purpose.
 *
 * Not given: the lock after the reservation. An execution that ends without the release keeps the lock until then.
 */
import { type DurableContext, withDurableExecution } from "@aws/durable-execution-sdk-js";
import { LocalDurableTestRunner } from "@aws/durable-execution-sdk-js-testing";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { exportLease, Holdfast, inspect, type LeaseTransfer, mutex } from "holdfast";
import { releaseByHolder } from "holdfast/admin";
import { createTable } from "holdfast/table";

const client = new DynamoDBClient({});
const table = process.env["HOLDFAST_TABLE"] ?? "locks";
await createTable({ client, table });
const locks = new Holdfast({ client, table });

/** Reserves the lock for longer than the execution may last. The result is JSON: the step stores it. */
async function take(name: string, execution: string): Promise<LeaseTransfer> {
  const found = await inspect(locks, name);
  if (found.owner === execution && found.holder !== undefined) {
    // An earlier attempt of this step took the lock, and ended before its result was stored.
    await releaseByHolder(locks, name, found.holder);
  }
  const lease = await mutex(locks, name).acquire({ owner: execution, wait: "1s" });
  // The lease ends in this process, and the lock stays reserved.
  return exportLease(lease, { lease: "1h" });
}

/** Call it before an effect, and give `BigInt(held.fence)` to the store. */
async function assertReserved(held: LeaseTransfer): Promise<void> {
  const { fence } = await inspect(locks, held.name);
  if (fence !== BigInt(held.fence)) throw new Error(`"${held.name}" is no longer reserved`);
}

const failOnce = new Set(["after taking the lock", "while billing"]);
function mayFail(when: string): void {
  if (!failOnce.delete(when)) return;
  console.log(`fails ${when}`);
  throw new Error(when);
}

const handler = withDurableExecution(
  async ({ order }: { order: number }, context: DurableContext) => {
    const { durableExecutionArn } = context.executionContext;
    const held = await context.step("take", async () => {
      const taken = await take(`order/${order}`, durableExecutionArn);
      mayFail("after taking the lock");
      return taken;
    });
    try {
      await context.wait({ seconds: 600 }); // the function ends here, and is called again
      await context.step("bill", async () => {
        await assertReserved(held);
        mayFail("while billing");
        console.log(
          `bills order ${order}: ${await mutex(locks, held.name).tryAcquire()} for others`,
        );
      });
    } finally {
      await context.step("release", () => releaseByHolder(locks, held.name, held.holder));
    }
    return "billed";
  },
);

// What Lambda does:
await LocalDurableTestRunner.setupTestEnvironment({ skipTime: true });
const runner = new LocalDurableTestRunner({ handlerFunction: handler });
const execution = await runner.run({ payload: { order: 42 } });
console.log(execution.getStatus(), execution.getResult());
console.log(`it was replayed: ${execution.getInvocations().length > 1}`);
await LocalDurableTestRunner.teardownTestEnvironment();
console.log(`the lock is ${(await inspect(locks, "order/42")).state}`);
await locks.close();
