import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listLocks, releaseByHolder } from "../../packages/holdfast/src/admin/index.js";
import {
  type Holdfast,
  type HoldfastOptions,
  inspect,
  mutex,
} from "../../packages/holdfast/src/index.js";
import type { ProxyFault } from "../../packages/testing/src/proxy/proxy-plan.js";
import { BadNetworks } from "../support/bad-network.js";
import { describeOnOneServer } from "../support/dynamodb-local.js";
import { WAYS, type Way } from "../support/ways.js";

const HELD = { lease: "4s", renew: "manual", poll: { min: "10ms" } } as const;
/** For an acquisition that has to fail. */
const MANUAL = { ...HELD, wait: "400ms" } as const;

const PASSING: readonly [string, ProxyFault, string][] = [
  ["throttled", { fault: "throttled" }, "throttled"],
  [
    "throttled by a provisioned table",
    { fault: "throttled", error: "ProvisionedThroughputExceededException" },
    "throttled",
  ],
  ["throttled by the account", { fault: "throttled", error: "RequestLimitExceeded" }, "throttled"],
  ["in conflict with a transaction", { fault: "conflict" }, "throttled"],
  ["answered with 500", { fault: "internal-error" }, "unreachable"],
  ["cut off", { fault: "request-lost", how: "reset" }, "unreachable"],
  ["never answered", { fault: "request-lost", how: "hang" }, "unreachable"],
];

const HALVED: (typeof PASSING)[number] = [
  "answered with half an answer",
  { fault: "truncated", how: "halved" },
  "unreachable",
];

describeOnOneServer("a failing table", (endpoint) => {
  describe.each(WAYS)("$way", (way) => declare(endpoint, way));
});

// The first requests of a client load the SDK's parts and open connections. On a busy machine this can exceed
// the short request timeout of these tests, and would be reported as unanswered. The first write and the first
// refusal are slow too.
async function warmUp(locks: Holdfast): Promise<void> {
  const cycle = async (): Promise<boolean> => {
    const lease = await mutex(locks, `warm ${randomUUID()}`).acquire({ renew: "manual" });
    const { name } = lease;
    await lease.release();
    return !(await releaseByHolder(locks, name, "nobody"));
  };
  await expect.poll(() => cycle().catch(() => false), { timeout: 20_000 }).toBe(true);
}

function declare(endpoint: () => string, way: Way): void {
  let networks: BadNetworks;
  beforeAll(async () => {
    networks = await BadNetworks.open(endpoint(), way);
  });
  afterAll(() => networks.close());

  describe.concurrent.each(PASSING)("a table with every request %s", (how, fault, code) => {
    it("rejects acquire and tryAcquire, and leaves the table unchanged", async () => {
      const name = `free ${how}`;
      const network = await networks.network();
      const { locks } = network.locker();
      await warmUp(locks);
      network.nextWrites(name, fault, 100);
      await expect(mutex(locks, name).acquire(MANUAL)).rejects.toMatchObject({
        code,
        lockName: name,
      });
      await expect(mutex(locks, name).tryAcquire(MANUAL)).rejects.toMatchObject({ code });
      network.proxy.clear();
      await locks.close();
      expect(await networks.record(name)).toBeUndefined();
    });
  });

  // An applied renewal is applied again, and never refused, so its truncated answers leave the outcome unknown.
  describe.concurrent.each([...PASSING, HALVED])("a table with every request %s", (how, fault) => {
    it("loses a renewal, or after a full lease the lock, and reports the cause", async () => {
      const name = `held ${how}`;
      const network = await networks.network();
      const { locks } = network.locker();
      const lease = await mutex(locks, name).acquire(HELD);
      network.nextWrites(name, fault, 1);
      await lease.renew();
      expect(lease.isHeld).toBe(true);
      await lease.renew({ lease: "2s" });
      network.nextWrites(name, fault, 100);
      await expect(lease.renew()).rejects.toMatchObject({ code: "lost", reason: "expired" });
      expect(lease.signal.reason.cause).toBeInstanceOf(Error);
    });
  });

  it.concurrent("reads the record if every write gets a truncated answer", async () => {
    const network = await networks.network();
    const { locks } = network.locker({ requestTimeout: "5s" });
    network.nextWrites("halved", HALVED[1], 100);
    // An applied write refuses its own repetition, and even a truncated refusal shows its status.
    const lease = await mutex(locks, "halved").acquire({ renew: "manual" });
    expect(await networks.record("halved")).toMatchObject({ holder: { S: lease.holder } });
    await lease.release();
    expect(await networks.record("halved")).not.toHaveProperty("holder");
  });

  it.concurrent("retries after a throttled request and after a transaction conflict", async () => {
    const network = await networks.network();
    const { locks } = network.locker();
    for (const fault of [{ fault: "throttled" }, { fault: "conflict" }] as const) {
      network.nextWrites(fault.fault, fault, 1);
      const lease = await mutex(locks, fault.fault).tryAcquire(HELD);
      expect(lease?.isHeld).toBe(true);
      network.nextWrites(fault.fault, fault, 1);
      await lease?.release();
      expect(await networks.record(fault.fault)).not.toHaveProperty("holder");
    }
  });

  it.concurrent("rejects at once without permission for UpdateItem", async () => {
    const network = await networks.network();
    const { locks } = network.locker();
    network.proxy.next("UpdateItem", { fault: "access-denied" }, 100);
    const denied = { code: "access-denied", message: expect.stringContaining("UpdateItem") };
    await expect(mutex(locks, "denied").acquire({ wait: 0 })).rejects.toMatchObject(denied);
    await expect(mutex(locks, "denied").tryAcquire()).rejects.toMatchObject(denied);
    expect(network.proxy.count()).toBe(2);
    expect(await inspect(locks, "denied")).toMatchObject({ state: "absent" });
  });

  it.concurrent("rejects a waiter without permission for GetItem", async () => {
    const network = await networks.network();
    const { locks } = network.locker();
    await mutex(networks.locker().locks, "unreadable").acquire({ ...HELD, lease: "60s" });
    network.proxy.next("GetItem", { fault: "access-denied" }, 100);
    const waiting = mutex(locks, "unreadable").acquire({ ...HELD, wait: "3s" });
    await expect(waiting).rejects.toMatchObject({ code: "access-denied" });
  });

  it.concurrent("rejects the release of a holder without permission", async () => {
    const network = await networks.network();
    const { locks } = network.locker();
    const lease = await mutex(locks, "revoked").acquire(HELD);
    network.proxy.next("UpdateItem", { fault: "access-denied" }, 100);
    await expect(lease.release()).rejects.toMatchObject({ code: "access-denied" });
    expect(lease.isHeld).toBe(false);
  });

  it.concurrent("rejects an update without permission, and keeps the lock", async () => {
    const network = await networks.network();
    const { locks } = network.locker();
    const lease = await mutex(locks, "readonly").acquire({ lease: "6s" });
    // As with a policy by attributes: renewals of the same lease continue.
    const isUpdate = (request: { readonly body: object | undefined }): boolean => {
      const body = JSON.stringify(request.body ?? {});
      return body.includes("dataSeq") && !body.includes("acquiredAt");
    };
    network.proxy.next(isUpdate, { fault: "access-denied" }, 100);
    await expect(lease.update({ never: "kept" })).rejects.toMatchObject({ code: "access-denied" });
    expect(lease.isHeld).toBe(true);
  });

  it.concurrent("reports an unknown outcome for an unanswered release", async () => {
    const network = await networks.network();
    const { locks } = network.locker();
    const lease = await mutex(locks, "silent").acquire(HELD);
    network.proxy.next("UpdateItem", { fault: "request-lost", how: "hang" }, 100);
    await expect(lease.release()).rejects.toMatchObject({ code: "outcome-unknown" });
  });

  it.concurrent("reports a missing table or a wrong key at once", async () => {
    const misfits: Partial<HoldfastOptions>[] = [
      { table: "no-such-table" },
      { keys: { pk: "id" } },
      { keys: { pk: "pk", sk: null } },
      { keys: { pk: "pk", sk: "other" } },
    ];
    for (const misfit of misfits) {
      const network = await networks.network();
      const { locks } = network.locker({ requestTimeout: "5s", ...misfit });
      const misconfigured = { code: "misconfigured" };
      await expect(mutex(locks, "misfit").acquire()).rejects.toMatchObject(misconfigured);
      await expect(mutex(locks, "misfit").tryAcquire()).rejects.toMatchObject(misconfigured);
      await expect(inspect(locks, "misfit")).rejects.toMatchObject(misconfigured);
      expect(network.proxy.count()).toBe(3);
    }
    expect(await networks.record("misfit")).toBeUndefined();
  });

  it.concurrent("reports an unreachable endpoint, and unanswered reads of a table", async () => {
    const { locks } = networks.locker({
      client: networks.client("http://127.0.0.1:1"),
      requestTimeout: "1s",
    });
    const unreachable = { code: "unreachable" };
    await expect(mutex(locks, "nowhere").acquire(MANUAL)).rejects.toMatchObject(unreachable);
    await expect(mutex(locks, "nowhere").tryAcquire(MANUAL)).rejects.toMatchObject(unreachable);
    await expect(inspect(locks, "nowhere")).rejects.toMatchObject(unreachable);
    await expect(listLocks(locks)[Symbol.asyncIterator]().next()).rejects.toMatchObject(
      unreachable,
    );
  });

  it.concurrent("names the holder and no failure, if the lock is simply held", async () => {
    const theirs = networks.locker({ owner: "someone" });
    await mutex(theirs.locks, "taken").acquire({ ...HELD, lease: "60s" });
    const waiting = mutex(networks.locker().locks, "taken").acquire({ ...HELD, wait: "3s" });
    await expect(waiting).rejects.toMatchObject({
      code: "not-acquired",
      message: expect.stringMatching(/\bsomeone\b/),
    });
    expect(await mutex(networks.locker().locks, "taken").tryAcquire()).toBeNull();
  });
}
