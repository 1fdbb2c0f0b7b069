import { TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { expect } from "vitest";
import { condition, mutex } from "../../packages/holdfast/src/index.js";
import { pause } from "../support/sdk.js";
import { type Bench, type Declare, MANUAL, POLL, REFUSED, WRITE } from "./mutex-bench.js";

/** Tests of the steps of a lock's life, and their costs. */
export function stepTests(test: Declare, bench: Bench): void {
  const { locker, item, during } = bench;

  test("acquires a free lock with one write of one unit, and tries a held lock with one write", async () => {
    const { locks } = locker();
    expect(await during(() => mutex(locks, "cost").acquire(MANUAL))).toEqual([WRITE]);
    const rival = locker();
    const tried = await during(async () => {
      expect(await mutex(rival.locks, "cost").tryAcquire()).toBeNull();
    });
    expect(tried).toEqual([REFUSED]);
  });

  test("renews, updates, changes the length and releases with one write of one unit each", async () => {
    const { locks } = locker();
    const lease = await mutex(locks, "steps").acquire(MANUAL);
    expect(await during(() => lease.renew())).toEqual([WRITE]);
    expect(await during(() => lease.update({ step: 1 }))).toEqual([WRITE]);
    expect(await during(() => lease.renew({ lease: "40s", data: [2] }))).toEqual([WRITE]);
    expect(lease.leaseMs).toBe(40_000);
    expect(lease.data).toEqual([2]);
    expect(await item("steps")).toMatchObject({
      holder: { S: lease.holder },
      fence: { N: lease.fence.toString() },
      leaseMs: { N: "40000" },
      data: { L: [{ N: "2" }] },
      dataSeq: { N: "2" },
    });
    expect(await during(() => lease.release())).toEqual([WRITE]);
    const free = await item("steps");
    expect(free).toMatchObject({ lastHolder: { S: lease.holder }, version: { N: "3" } });
    expect(Object.keys(free ?? {})).not.toContain("holder");
    expect(Object.keys(free ?? {})).not.toContain("data");
  });

  test("reclaims a freed lock with one write and a higher fence, also from another process", async () => {
    const { locks } = locker();
    const first = await mutex(locks, "again").acquire(MANUAL);
    await first.release();
    expect(await during(() => mutex(locks, "again").run(() => undefined))).toEqual([WRITE, WRITE]);
    const third = await mutex(locker().locks, "again").acquire(MANUAL);
    expect(third.fence).toBe(first.fence + 2n);
  });

  test("hands a lock to the next waiter of the process with one write", async () => {
    const { locks } = locker();
    const first = await mutex(locks, "handed").acquire(MANUAL);
    const second = mutex(locks, "handed").acquire(MANUAL);
    await pause(1);
    const sent = await during(async () => {
      await first.release();
      await second;
    });
    expect(sent).toEqual([WRITE]);
    expect((await second).fence).toBe(first.fence + 1n);
    expect(await item("handed")).toMatchObject({ holder: { S: (await second).holder } });
  });

  test.once("polls a held lock with reads of half a unit, and rejects after the wait", async () => {
    await mutex(locker().locks, "polled").acquire(MANUAL);
    const rival = locker();
    const poll = { min: "50ms", max: "50ms" };
    const sent = await during(async () => {
      const waiting = mutex(rival.locks, "polled").acquire({ wait: "2s", poll });
      await expect(waiting).rejects.toMatchObject({ code: "not-acquired" });
    });
    expect(sent[0]).toEqual(REFUSED);
    // A read cut off by the end of the wait may appear as an error.
    const polls = sent.slice(1).filter((one) => one.applied);
    expect(polls.length).toBeGreaterThanOrEqual(2);
    expect(polls).toEqual(polls.map(() => POLL));
    expect(sent.length - polls.length).toBeLessThanOrEqual(2);
  });

  test("grants a freed lock to a waiting process", async () => {
    const lease = await mutex(locker().locks, "freed").acquire(MANUAL);
    const waiting = mutex(locker().locks, "freed").acquire(MANUAL);
    await pause(100);
    await lease.release();
    expect((await waiting).fence).toBe(lease.fence + 1n);
  });

  test("takes over from a silent holder after its lease, and not before", async () => {
    const dead = await mutex(locker().locks, "silent").acquire({ ...MANUAL, lease: "500ms" });
    const rival = locker();
    const fromMs = performance.now();
    // Shorter than the rival's own lease.
    const lease = await mutex(rival.locks, "silent").acquire({ ...MANUAL, wait: "10s" });
    expect(performance.now() - fromMs).toBeGreaterThanOrEqual(510);
    expect(lease.fence).toBe(dead.fence + 1n);
    expect(dead.isHeld).toBe(false);
    expect(dead.signal.reason).toMatchObject({ code: "lost", reason: "expired" });
    await expect(dead.renew()).rejects.toMatchObject({ code: "lost" });
    expect(await item("silent")).toMatchObject({ holder: { S: lease.holder } });
  });

  test.once("never takes a lock whose holder renews", async () => {
    const lease = await mutex(locker().locks, "renewed").acquire({ lease: "2s" });
    const rival = mutex(locker().locks, "renewed");
    await expect(rival.acquire({ wait: "3s" })).rejects.toMatchObject({
      code: "not-acquired",
    });
    expect(lease.isHeld).toBe(true);
  });

  test.once(
    "commits a guarded transaction of the holder, and refuses a former holder's",
    async () => {
      const lease = await mutex(locker().locks, "guard").acquire({ ...MANUAL, lease: "300ms" });
      const key = bench.shape.key("written");
      const guarded = () =>
        bench.open.client.send(
          new TransactWriteItemsCommand({
            TransactItems: [
              condition(lease),
              { Put: { TableName: bench.open.table, Item: { ...key, at: { S: lease.holder } } } },
            ],
          }),
        );
      await guarded();
      await mutex(locker().locks, "guard").acquire(MANUAL);
      await expect(guarded()).rejects.toMatchObject({
        name: "TransactionCanceledException",
        CancellationReasons: [{ Code: "ConditionalCheckFailed" }, { Code: "None" }],
      });
    },
  );
}
