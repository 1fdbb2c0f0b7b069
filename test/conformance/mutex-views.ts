import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { expect } from "vitest";
import { listLocks, releaseByHolder } from "../../packages/holdfast/src/admin/index.js";
import { inspect, mutex } from "../../packages/holdfast/src/index.js";
import { type Bench, type Declare, MANUAL, POLL } from "./mutex-bench.js";

/** Tests of operations without holding a lock, and of records of other clients. */
export function viewTests(test: Declare, bench: Bench): void {
  const { locker, item, during } = bench;

  test("inspects absent, held and free locks", async () => {
    const { locks } = locker({ owner: "tester" });
    expect(await inspect(locks, "seen")).toMatchObject({ state: "absent", acquirableInMs: 0 });
    const lease = await mutex(locks, "seen").acquire({ ...MANUAL, data: { job: 7 } });
    expect(await during(() => inspect(locks, "seen"))).toEqual([{ ...POLL, units: 1 }]);
    expect(await mutex(locker().locks, "seen").inspect()).toMatchObject({
      state: "held",
      holder: lease.holder,
      owner: "tester",
      fence: lease.fence,
      version: 1n,
      leaseMs: 30_000,
      data: { job: 7 },
      appearsExpired: false,
    });
    await lease.release({ keepData: true });
    expect(await inspect(locks, "seen")).toMatchObject({ state: "free", data: { job: 7 } });
  });

  test("lists held locks by prefix, and free locks on request", async () => {
    const { locks } = locker();
    await mutex(locks, "list/held").acquire(MANUAL);
    await (await mutex(locks, "list/free").acquire(MANUAL)).release();
    const names = async (options: { prefix: string; free?: boolean }) => {
      const found: string[] = [];
      for await (const page of listLocks(locks, options)) {
        expect(page.readUnits).toBeGreaterThan(0);
        found.push(...page.locks.map((lock) => lock.name));
      }
      return found.sort();
    };
    expect(await names({ prefix: "list/" })).toEqual(["list/held"]);
    expect(await names({ prefix: "list/", free: true })).toEqual(["list/free", "list/held"]);
    expect(await names({ prefix: "elsewhere/", free: true })).toEqual([]);
  });

  test("releases by holder id, and the holder learns of the loss at the next renewal", async () => {
    const lease = await mutex(locker().locks, "byHolder").acquire(MANUAL);
    const { locks } = locker();
    expect(await releaseByHolder(locks, "byHolder", "somebody else")).toBe(false);
    expect(await releaseByHolder(locks, "byHolder", lease.holder)).toBe(true);
    await expect(lease.renew()).rejects.toMatchObject({ reason: "released-elsewhere" });
  });

  // rule: protocol 7
  test("never takes a lease of another holder or an unknown record", async () => {
    const { locks } = locker();
    const put = (name: string, attributes: Record<string, { N: string } | { S: string }>) =>
      bench.open.client.send(
        new PutItemCommand({
          TableName: bench.open.table,
          Item: { ...bench.shape.key(name), ...attributes },
        }),
      );
    await put("foreign", { colour: { S: "red" } });
    await put("newer", { v: { N: "2" }, fence: { N: "5" } });
    await put("session", {
      v: { N: "1" },
      fence: { N: "5" },
      version: { N: "1" },
      session: { S: "x" },
    });
    const codes: [string, string][] = [
      ["foreign", "foreign-record"],
      ["newer", "unsupported-layout"],
      ["session", "foreign-record"],
    ];
    for (const [name, code] of codes) {
      const before = await item(name);
      await expect(mutex(locks, name).acquire()).rejects.toMatchObject({ code });
      expect(await item(name)).toEqual(before);
    }
  });

  // rule: protocol 2
  test("keeps different names apart, and accepts the longest names", async () => {
    const { locks } = locker();
    const names = ["a", "A", "a#", "#a", "ä", "a\u0308", " a", "é".repeat(950)];
    const leases = await Promise.all(names.map((name) => mutex(locks, name).acquire(MANUAL)));
    expect(new Set(leases.map((lease) => lease.holder)).size).toBe(names.length);
    expect((await item("é".repeat(950)))?.["holder"]).toBeDefined();
  });
}
