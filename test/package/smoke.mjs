// A short test of the package as users have it. Plain Node of any supported version runs this file beside a
// package named holdfast (the checkout, or an install of the tarball). Needs no test runner.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import {
  DatedTable,
  MemoryDynamoDB,
  MemoryTable,
  memoryClient,
  VirtualTime,
} from "@holdfast/testing";
import { Holdfast, inspect, isHoldfastError, mutex } from "holdfast";
import { withLock } from "holdfast/lambda";
import { createTable } from "holdfast/table";

const TABLE = "locks";

/** Performs every step of a user with a lock, on any table. */
async function useLocks(client) {
  const locks = new Holdfast({ client, table: TABLE });
  const rival = new Holdfast({ client, table: TABLE });
  const lease = await mutex(locks, "a").acquire({ lease: "5s", wait: 0, data: { n: 1 } });
  assert.equal(lease.isHeld, true);
  assert.equal(await mutex(rival, "a").tryAcquire(), null);
  await lease.renew();
  await lease.renew({ data: { n: 2 } });
  const seen = await inspect(rival, "a");
  assert.deepEqual([seen.state, seen.fence, seen.data], ["held", lease.fence, { n: 2 }]);
  await lease.release();
  assert.throws(
    () => lease.assertHeld(),
    (error) => isHoldfastError(error, "lost"),
  );
  const next = await mutex(rival, "a").acquire({ wait: "5s" });
  assert.ok(next.fence > lease.fence);
  const refused = mutex(locks, "a").acquire({ wait: "50ms" });
  await assert.rejects(refused, (error) => isHoldfastError(error, "not-acquired"));
  await Promise.all([locks.close(), rival.close()]);
  assert.equal(next.isHeld, false);
}

/** The same through the installed SDK, with its whole middleware stack. */
async function useSdk() {
  const client = memoryClient(new MemoryDynamoDB({ nowMs: () => Date.now() }));
  await createTable({ client, table: TABLE });
  await useLocks(client);
}

/** Freezes a Lambda function in the middle of its work, in virtual time, until another invocation has the lock. */
async function freezeLambda() {
  const time = new VirtualTime();
  const client = new DatedTable(new MemoryTable({ time }), () => time.wallMs);
  const context = { getRemainingTimeInMillis: () => 10_000 };
  const start = (environment) => {
    const locks = new Holdfast({ client, table: TABLE, environment });
    return withLock({ locks, name: "order/42" }, async (_event, _context, lease) => {
      await new Promise((resolve) => environment.timers.set(2_000, true, resolve));
      lease.assertHeld();
      return "billed";
    });
  };
  const [first, second] = [time.process(), time.process()];
  const frozen = start(first)({}, context);
  await time.advance(1_000);
  first.pause({ frozen: "monotonic" });
  await time.advance(60_000);
  assert.equal(await time.runUntil(start(second)({}, context)), "billed");
  first.resume();
  await assert.rejects(time.runUntil(frozen), (error) => isHoldfastError(error, "lost"));
}

/** Where Node can `require` an ES module, which every supported version can. */
function requireIt() {
  const required = createRequire(import.meta.url)("holdfast");
  assert.equal(required.Holdfast, Holdfast);
}

/** In a string, since an older Node could not even parse the file. */
async function awaitUsing() {
  const AsyncFunction = useLocks.constructor;
  const body = new AsyncFunction(
    "locks",
    "mutex",
    "await using held = await mutex(locks, 'b').acquire({ wait: 0 }); return held;",
  );
  const locks = new Holdfast({ client: new MemoryTable(), table: TABLE });
  const held = await body(locks, mutex);
  assert.equal(held.isHeld, false);
  assert.equal((await inspect(locks, "b")).state, "free");
  await locks.close();
}

const major = Number(process.versions.node.split(".")[0]);
const steps = { useLocks: () => useLocks(new MemoryTable()), useSdk, freezeLambda, requireIt };
if (major >= 24) steps.awaitUsing = awaitUsing;
for (const step of Object.values(steps)) await step();
console.log(`Node ${process.version}: ${Object.keys(steps).join(", ")}`);
