import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  downgrade,
  type Holdfast,
  readLock,
  semaphore,
  writeLock,
} from "../../packages/holdfast/src/index.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import { describeOnBothServers } from "../support/dynamodb-local.js";
import { freshTable, Lockers, pause, sdkClient } from "../support/sdk.js";

const WAIT = { wait: "30s", poll: { min: "20ms", max: "100ms" } } as const;

function permitsSuite(endpoint: () => string): void {
  const table = freshTable();
  const lockers = new Lockers();
  let client: DynamoDBClient;
  const process = (options = {}): Holdfast =>
    lockers.make({ client, table, lease: "20s", ...options }).locks;

  beforeAll(async () => {
    client = sdkClient(endpoint());
    await createTable({ client, table });
  });
  afterAll(async () => {
    await lockers.closeAll();
    client.destroy();
  });

  it("never has more permits in use than its limit, and serves every waiter", async () => {
    const processes = Array.from({ length: 4 }, () => process());
    let now = 0;
    let most = 0;
    const runs = processes.flatMap((locks, at) =>
      Array.from({ length: 5 }, () => {
        const weight = 1 + (at % 3);
        return semaphore(locks, "s", { permits: 5 }).run({ ...WAIT, weight }, async () => {
          now += weight;
          most = Math.max(most, now);
          await pause(20);
          now -= weight;
        });
      }),
    );
    await Promise.all(runs);
    expect(most).toBeLessThanOrEqual(5);
    expect(most).toBeGreaterThan(2);
    const [first] = processes as [Holdfast];
    const whole = await semaphore(first, "s", { permits: 5 }).tryAcquire({ weight: 5 });
    expect(whole?.isHeld).toBe(true);
  });

  it("returns the permit of a holder that stopped", async () => {
    let isCut = false;
    const cut = sdkClient(endpoint());
    cut.middlewareStack.add(
      (next) => (args) => (isCut ? Promise.reject(new Error("The network is cut.")) : next(args)),
      { step: "initialize" },
    );
    const [dead, live] = [process({ client: cut, lease: "2s" }), process()];
    const permit = await semaphore(dead, "d", { permits: 1 }).acquire();
    isCut = true;
    const next = await semaphore(live, "d", { permits: 1 }).acquire(WAIT);
    expect(next.fence).toBeGreaterThan(permit.fence);
  });

  it("lets readers in together, and a writer alone", async () => {
    const [one, two, three] = [process(), process(), process()];
    const readers = [await readLock(one, "c").acquire(), await readLock(two, "c").acquire()];
    const writing = writeLock(three, "c").acquire(WAIT);
    await pause(300);
    await Promise.all(readers.map((reader) => reader.release()));
    const writer = await writing;
    expect(await readLock(one, "c").tryAcquire()).toBeNull();
    const reader = await downgrade(writer);
    expect((await readLock(one, "c").acquire(WAIT)).fence).toBeGreaterThan(reader.fence);
  });
}

describeOnBothServers("permits", permitsSuite);
