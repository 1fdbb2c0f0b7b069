import { describe, expect, it } from "vitest";
import { expectError } from "../../../../../test/support/errors.js";
import { type FixedOptions, fixedProcess } from "../../../../../test/support/fixed.js";
import { World } from "../../../../../test/support/world.js";
import type { FaultyTable } from "../../../../testing/src/faults/faults.js";
import { all, mutex, openSession } from "../../../src/index.js";
import type { TransactionAnswer } from "../../../src/platform/table.js";

const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const OPTIONS = { lease: "10s", poll: { min: "100ms", max: "800ms" } } as const;

describe("a late copy of a released holder's claim", () => {
  it("blocks no later acquisition of the same process", async () => {
    const world = new World();
    const { locks, network } = fixedProcess(world, OPTIONS);
    const lock = mutex(locks, "a");
    network.next("write", { fault: "duplicated", delayMs: 2_000 });
    const lease = await world.until(lock.acquire());
    await world.until(lease.release());
    world.table.deleteItem(KEY);
    await world.time.advance(3_000);
    expect(world.record("a")?.["holder"]).toEqual({ S: lease.holder });
    expect((await world.until(lock.tryAcquire()))?.isHeld).toBe(true);
  });
});

describe("a refused transaction of claims without the records", () => {
  /** A process whose first transaction is refused because of these records, which are absent. */
  function refused(more: object, options: FixedOptions = {}) {
    const world = new World();
    let sent = 0;
    const through = (network: FaultyTable) => ({
      clockCorrectionMs: 0,
      read: network.read.bind(network),
      scan: network.scan.bind(network),
      query: network.query.bind(network),
      write: network.write.bind(network),
      transact: async (...given: Parameters<NonNullable<typeof network.transact>>) => {
        sent += 1;
        const none = [{ item: undefined }, undefined];
        const refusal = { kind: "refused", refusals: none, ...more } as TransactionAnswer;
        return sent === 1 || network.transact === undefined ? refusal : network.transact(...given);
      },
    });
    const { locks } = fixedProcess(world, { ...OPTIONS, ...options, through });
    return { world, acquiring: () => all(locks, ["a", "b"]).acquire({ wait: "5s" }) };
  }

  it("is an error, because the waiter could not recognise its own grants", async () => {
    const { world, acquiring } = refused({});
    await expectError(world.until(acquiring()), { code: "misconfigured", lockName: "a" });
  });

  it("is followed by another, if the records were read after the refusal", async () => {
    const { world, acquiring } = refused({ isReadLater: true });
    expect((await world.until(acquiring())).isHeld).toBe(true);
  });
});

describe("a session without a wait", () => {
  it("is opened by one attempt, or not at all", async () => {
    const world = new World();
    const { locks, network } = fixedProcess(world, { ...OPTIONS, requestTimeout: 1_000 });
    network.script(() => ({ fault: "request-lost", unknownAfterMs: 10 }));
    const opening = openSession(locks, { wait: 0, lease: "2s" });
    await expectError(world.until(opening), { code: "unreachable" });
    expect(world.time.nowMs).toBeLessThan(2_500);
  });
});
