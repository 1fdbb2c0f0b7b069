import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Holdfast, HoldfastOptions } from "../../src/index.js";
import type { ProxyFault } from "../../src/testing/proxy/proxy-plan.js";
import { BadNetworks } from "../support/bad-network.js";
import { describeOnDynamoDBLocal } from "../support/dynamodb-local.js";
import { pause } from "../support/sdk.js";
import { WAYS, type Way } from "../support/ways.js";

const MANUAL = { lease: "2s", renew: "manual", wait: "400ms", poll: { min: 10 } } as const;

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

describeOnDynamoDBLocal("trouble with the table is never taken for contention", (endpoint) => {
  describe.each(WAYS)("$way", (way) => declare(endpoint, way));
});

// The first requests of a client load the SDK's parts and open connections: on a busy machine they take longer than
// these tests let a request take, and would be told as no answer. The first writes too, and the first refusal.
async function warmUp(locks: Holdfast): Promise<void> {
  const cycle = async (): Promise<boolean> => {
    const lease = await locks.mutex(`warm ${randomUUID()}`).acquire({ renew: "manual" });
    const { name } = lease;
    await lease.release();
    return !(await locks.release(name, "nobody"));
  };
  await expect.poll(() => cycle().catch(() => false), { timeout: 20_000 }).toBe(true);
}

function declare(endpoint: () => string, way: Way): void {
  let networks: BadNetworks;
  beforeAll(async () => {
    networks = await BadNetworks.open(endpoint(), way);
  });
  afterAll(() => networks.close());

  describe.each(PASSING)("a table whose every request is %s", (how, fault, code) => {
    it.concurrent("rejects acquire and tryAcquire, and leaves nothing in the table", async () => {
      const name = `free ${how}`;
      const network = await networks.network();
      const { locks } = network.locker();
      await warmUp(locks);
      network.nextWrites(name, fault, 100);
      await expect(locks.mutex(name).acquire(MANUAL)).rejects.toMatchObject({
        code,
        lockName: name,
      });
      await expect(locks.mutex(name).tryAcquire(MANUAL)).rejects.toMatchObject({ code });
      network.proxy.clear();
      await locks.close();
      expect(await networks.record(name)).toBeUndefined();
    });
  });

  // A renewal that was applied is applied again, and never refused: half of its answers tell nothing.
  describe.each([...PASSING, HALVED])("a table whose every request is %s", (how, fault) => {
    it.concurrent("costs one holder one renewal, and another its lease, with the cause told", async () => {
      const name = `held ${how}`;
      const network = await networks.network();
      const { locks } = network.locker();
      const lease = await locks.mutex(name).acquire(MANUAL);
      network.nextWrites(name, fault, 1);
      await lease.renew();
      expect(lease.isHeld).toBe(true);
      await lease.renew({ lease: 300 });
      network.nextWrites(name, fault, 100);
      await expect(lease.renew()).rejects.toMatchObject({ code: "lost", reason: "expired" });
      expect(lease.signal.reason.cause).toBeInstanceOf(Error);
    });
  });

  it.concurrent("reads the record where every write is answered with half an answer", async () => {
    const network = await networks.network();
    const { locks } = network.locker({ requestTimeout: "5s" });
    network.nextWrites("halved", HALVED[1], 100);
    // What was applied refuses its own repetition, and the half of that refusal says so by its status.
    const lease = await locks.mutex("halved").acquire({ renew: "manual" });
    expect(await networks.record("halved")).toMatchObject({ holder: { S: lease.holder } });
    await lease.release();
    expect(await networks.record("halved")).not.toHaveProperty("holder");
  });

  it.concurrent("goes on after one request that was throttled, and one that met a transaction", async () => {
    const network = await networks.network();
    const { locks } = network.locker();
    for (const fault of [{ fault: "throttled" }, { fault: "conflict" }] as const) {
      network.nextWrites(fault.fault, fault, 1);
      const lease = await locks.mutex(fault.fault).tryAcquire(MANUAL);
      expect(lease?.isHeld).toBe(true);
      network.nextWrites(fault.fault, fault, 1);
      await lease?.release();
      expect(await networks.record(fault.fault)).not.toHaveProperty("holder");
    }
  });

  it.concurrent("says so at once where access to UpdateItem alone is denied", async () => {
    const network = await networks.network();
    const { locks } = network.locker();
    network.proxy.next("UpdateItem", { fault: "access-denied" }, 100);
    const fromMs = performance.now();
    const denied = { code: "access-denied", message: expect.stringContaining("UpdateItem") };
    await expect(locks.mutex("denied").acquire()).rejects.toMatchObject(denied);
    await expect(locks.mutex("denied").tryAcquire()).rejects.toMatchObject(denied);
    expect(performance.now() - fromMs).toBeLessThan(300);
    expect(await locks.inspect("denied")).toMatchObject({ state: "absent" });
  });

  it.concurrent("says so to a waiter where access to GetItem alone is denied", async () => {
    const network = await networks.network();
    const { locks } = network.locker();
    await networks.locker().locks.mutex("unreadable").acquire(MANUAL);
    network.proxy.next("GetItem", { fault: "access-denied" }, 100);
    const waiting = locks.mutex("unreadable").acquire({ ...MANUAL, wait: "10s" });
    await expect(waiting).rejects.toMatchObject({ code: "access-denied" });
  });

  it.concurrent("says so to a holder that loses its permission, at its release", async () => {
    const network = await networks.network();
    const { locks } = network.locker();
    const lease = await locks.mutex("revoked").acquire(MANUAL);
    network.proxy.next("UpdateItem", { fault: "access-denied" }, 100);
    await expect(lease.release()).rejects.toMatchObject({ code: "access-denied" });
    expect(lease.isHeld).toBe(false);
  });

  it.concurrent("says so to an update that alone is denied, and keeps the lock", async () => {
    const network = await networks.network();
    const { locks } = network.locker();
    const lease = await locks.mutex("readonly").acquire({ lease: 600 });
    // As a policy does that names attributes: the renewals of the same lease go on.
    const isUpdate = (request: { readonly body: object | undefined }): boolean => {
      const body = JSON.stringify(request.body ?? {});
      return body.includes("dataSeq") && !body.includes("acquiredAt");
    };
    network.proxy.next(isUpdate, { fault: "access-denied" }, 100);
    const updating = lease.update({ never: "kept" }).catch((error: unknown) => error);
    const outcome = await Promise.race([updating, pause(1_500).then(() => "nothing")]);
    expect(outcome).toMatchObject({ code: "access-denied" });
    expect(lease.isHeld).toBe(true);
  });

  it.concurrent("says of a release that nobody answered that its outcome is unknown", async () => {
    const network = await networks.network();
    const { locks } = network.locker();
    const lease = await locks.mutex("silent").acquire(MANUAL);
    network.proxy.next("UpdateItem", { fault: "request-lost", how: "hang" }, 100);
    await expect(lease.release()).rejects.toMatchObject({ code: "outcome-unknown" });
  });

  it.concurrent("says that a table is missing, or has another key, at once", async () => {
    const misfits: Partial<HoldfastOptions>[] = [
      { table: "no-such-table" },
      { keys: { pk: "id" } },
      { keys: { pk: "pk", sk: null } },
      { keys: { pk: "pk", sk: "other" } },
    ];
    for (const misfit of misfits) {
      const { locks } = networks.locker(misfit);
      const fromMs = performance.now();
      const misconfigured = { code: "misconfigured" };
      await expect(locks.mutex("misfit").acquire()).rejects.toMatchObject(misconfigured);
      await expect(locks.mutex("misfit").tryAcquire()).rejects.toMatchObject(misconfigured);
      await expect(locks.inspect("misfit")).rejects.toMatchObject(misconfigured);
      expect(performance.now() - fromMs).toBeLessThan(1_000);
    }
    expect(await networks.record("misfit")).toBeUndefined();
  });

  it.concurrent("says that an endpoint cannot be reached, and that a table's reads are not answered", async () => {
    const { locks } = networks.locker({
      client: networks.client("http://127.0.0.1:1"),
      requestTimeout: "150ms",
    });
    const unreachable = { code: "unreachable" };
    await expect(locks.mutex("nowhere").acquire(MANUAL)).rejects.toMatchObject(unreachable);
    await expect(locks.mutex("nowhere").tryAcquire(MANUAL)).rejects.toMatchObject(unreachable);
    await expect(locks.inspect("nowhere")).rejects.toMatchObject(unreachable);
    await expect(locks.list()[Symbol.asyncIterator]().next()).rejects.toMatchObject(unreachable);
  });

  it.concurrent("names the holder, and no trouble, where it is contention after all", async () => {
    await networks.locker({ owner: "someone" }).locks.mutex("taken").acquire(MANUAL);
    const waiting = networks.locker().locks.mutex("taken").acquire(MANUAL);
    await expect(waiting).rejects.toMatchObject({
      code: "not-acquired",
      message: expect.stringMatching(/\bsomeone\b/),
    });
    expect(await networks.locker().locks.mutex("taken").tryAcquire()).toBeNull();
  });
}
