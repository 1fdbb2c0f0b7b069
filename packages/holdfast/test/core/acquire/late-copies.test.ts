import { describe, expect, it } from "vitest";
import { expectError } from "../../../../../test/support/errors.js";
import { type FixedOptions, fixedProcess } from "../../../../../test/support/fixed.js";
import { World } from "../../../../../test/support/world.js";
import type { FaultyTable } from "../../../../testing/src/faults/faults.js";
import { all, exportLease, mutex, openSession } from "../../../src/index.js";
import type {
  Item,
  Transaction,
  TransactionAnswer,
  Write,
  WriteAnswer,
} from "../../../src/platform/table.js";

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

const NAMES = ["a", "b"];

type Transact = NonNullable<FaultyTable["transact"]>;
type Answering = (sent: Transaction, apply: () => Promise<unknown>) => Promise<TransactionAnswer>;

const own = ({ change }: Write) => {
  const { holder, leaseMs } = change.set as Record<string, { S: string }>;
  const number = { N: "1" };
  return {
    item: { v: number, version: number, fence: number, holder, leaseMs } as unknown as Item,
  };
};

/** A process whose first transactions of grants are answered by a script. */
function setUp(script: readonly Answering[]) {
  const world = new World();
  const sent: Transaction[] = [];
  const through = (network: FaultyTable) => ({
    transact: async (...given: Parameters<Transact>): Promise<TransactionAnswer> => {
      sent.push(given[0]);
      const apply = () => (network.transact as Transact)(...given);
      return (await script[sent.length - 1]?.(given[0], apply)) ?? apply();
    },
  });
  const { locks } = fixedProcess(world, { ...OPTIONS, through });
  const acquiring = () => world.until(all(locks, NAMES).acquire({ wait: "5s" }));
  return { world, sent, acquiring };
}

const silent: Answering = async () => ({ kind: "unknown", cause: new Error("silent") });
/** As if the records named the ids of this attempt. */
const refusedByOwnIds: Answering = async ({ writes }) => ({
  kind: "refused",
  refusals: writes.map(own),
});

describe("a refused transaction whose records name the ids of the attempt", () => {
  it("was applied by an earlier send without an answer", async () => {
    const lost: Answering = async (_, apply) => {
      await apply();
      return silent({} as Transaction, apply);
    };
    const { world, sent, acquiring } = setUp([lost, refusedByOwnIds]);
    const lease = await acquiring();
    expect(lease.isHeld).toBe(true);
    expect(sent).toHaveLength(2);
    expect(NAMES.map((name) => world.record(name)?.["holder"])).toEqual(
      sent[1]?.writes.map(({ change }) => change.set["holder"]),
    );
  });

  it("grants nothing if it was sent once: another process drew the same ids", async () => {
    const { sent, acquiring } = setUp([refusedByOwnIds]);
    const lease = await acquiring();
    // The next reads show the real records, and the next attempt has other ids.
    expect(lease.isHeld).toBe(true);
    expect(sent.length).toBeGreaterThan(1);
    expect(sent.at(-1)?.writes[0]?.change.set["holder"]).not.toEqual(
      sent[0]?.writes[0]?.change.set["holder"],
    );
  });
});

describe("an export without an answer to its first send", () => {
  it("is stolen if a record of another holder refuses the second send", async () => {
    const world = new World();
    let exports = 0;
    const through = (network: FaultyTable) => ({
      write: async (...given: Parameters<typeof network.write>): Promise<WriteAnswer> => {
        exports += 1;
        // The first write is the claim.
        if (exports === 2) return { kind: "unknown", cause: new Error("silent") };
        if (exports !== 3) return network.write(...given);
        const item = { ...world.record("a"), ...KEY, holder: { S: "another" } };
        return { kind: "refused", item };
      },
    });
    const { locks } = fixedProcess(world, { ...OPTIONS, through });
    const lease = await world.until(mutex(locks, "a").acquire());
    await expectError(world.until(exportLease(lease)), {
      ...{ code: "lost", lockName: "a", reason: "stolen" },
    });
  });
});
