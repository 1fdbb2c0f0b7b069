import { describe, expect, it } from "vitest";
import { expectError } from "../../../../../test/support/errors.js";
import { fixedProcess } from "../../../../../test/support/fixed.js";
import { World } from "../../../../../test/support/world.js";
import type { FaultyTable } from "../../../../testing/src/faults/faults.js";
import { all, exportLease, mutex } from "../../../src/index.js";
import type {
  Item,
  Transaction,
  TransactionAnswer,
  Write,
  WriteAnswer,
} from "../../../src/platform/table.js";

const OPTIONS = { lease: "10s", poll: { min: "100ms", max: "800ms" } } as const;
const NAMES = ["a", "b"];
const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };

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
    clockCorrectionMs: 0,
    read: network.read.bind(network),
    scan: network.scan.bind(network),
    query: network.query.bind(network),
    write: network.write.bind(network),
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
      clockCorrectionMs: 0,
      read: network.read.bind(network),
      scan: network.scan.bind(network),
      query: network.query.bind(network),
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
