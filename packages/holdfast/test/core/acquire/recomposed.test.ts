import { describe, expect, it } from "vitest";
import { expectError } from "../../../../../test/support/errors.js";
import { fixedProcess } from "../../../../../test/support/fixed.js";
import { World } from "../../../../../test/support/world.js";
import type { FaultyTable } from "../../../../testing/src/faults/faults.js";
import { all, mutex } from "../../../src/index.js";
import type { TablePort, Write, WriteAnswer } from "../../../src/platform/table.js";

const DAYS_MS = 30 * 24 * 3_600_000;
const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const OPTIONS = { lease: "10s", poll: { min: "100ms", max: "800ms" } } as const;

type Answering = (write: Write) => WriteAnswer | undefined;

/** A process whose first writes are answered by a script, and whose clock the table corrects at a given write. */
function setUp(script: readonly Answering[], correctedBy?: number) {
  const world = new World();
  const sent: Write[] = [];
  const through = (network: FaultyTable): Partial<TablePort> => ({
    get clockCorrectionMs(): number {
      return correctedBy !== undefined && sent.length >= correctedBy ? DAYS_MS : 0;
    },
    write: async (write, call) => {
      sent.push(write);
      return script[sent.length - 1]?.(write) ?? (await network.write(write, call));
    },
  });
  const { locks } = fixedProcess(world, { ...OPTIONS, through });
  const datesSent = () => sent.map(({ change }) => change.set["acquiredAt"]);
  return { world, mutex: mutex(locks, "a"), sent, datesSent };
}

const skewed: Answering = () => ({ kind: "skewed", cause: new Error("signature") });
const throttled: Answering = () => ({ kind: "throttled", cause: new Error("slow down") });
const unknown: Answering = () => ({ kind: "unknown", cause: new Error("silent") });

describe("a claim whose first answer corrects the clock", () => {
  it("is composed anew, with a fence and a date of the corrected clock", async () => {
    const { world, mutex, sent, datesSent } = setUp([skewed], 1);
    const { fence } = await world.until(mutex.acquire());
    expect(Number(fence)).toBeGreaterThan(world.time.wallMs + DAYS_MS - 1_000);
    const [first, second] = datesSent();
    expect(Date.parse((second as { S: string }).S)).toBeGreaterThan(
      Date.parse((first as { S: string }).S) + DAYS_MS - 1_000,
    );
    // One attempt has one id.
    expect(sent[1]?.change.set["holder"]).toEqual(sent[0]?.change.set["holder"]);
  });

  it("is sent as it was if the correction has not changed", async () => {
    const { world, mutex, datesSent } = setUp([throttled, throttled]);
    await world.until(mutex.acquire());
    const [first, second, third] = datesSent();
    expect([second, third]).toEqual([first, first]);
  });

  it("is sent again unchanged if DynamoDB may have applied the first send", async () => {
    const { world, mutex, datesSent } = setUp([unknown], 1);
    await world.until(mutex.acquire());
    const [first, second] = datesSent();
    expect(second).toEqual(first);
  });

  it("is composed anew only once", async () => {
    const { world, mutex, datesSent } = setUp([skewed, throttled], 1);
    await world.until(mutex.acquire());
    const [first, second, third] = datesSent();
    expect(second).not.toEqual(first);
    expect(third).toEqual(second);
  });
});

describe("an abandoned claim that DynamoDB applies late", () => {
  it("is taken over at once by the same process", async () => {
    const world = new World();
    const { locks, network } = fixedProcess(world, OPTIONS);
    const lock = mutex(locks, "a");
    const abort = new AbortController();
    network.next("write", { fault: "applied-late", delayMs: 2_000 });
    const trying = lock.acquire({ signal: abort.signal }).catch(() => undefined);
    await world.time.advance(10);
    abort.abort("enough");
    await world.until(trying);
    // The rollback has no answer meanwhile.
    network.script(() => ({ fault: "request-lost", unknownAfterMs: 10 }));
    await world.time.advance(3_000);
    expect(world.record("a")?.["holder"]).toBeDefined();
    network.clear();
    const fromMs = world.time.nowMs;
    const lease = await world.until(lock.tryAcquire());
    expect(lease?.isHeld).toBe(true);
    expect(world.time.nowMs - fromMs).toBeLessThan(100);
  });
});

describe("an unreadable record", () => {
  const acquireOn = (item: Record<string, { N: string } | { S: string }>) => {
    const world = new World();
    world.table.putItem(KEY, item);
    return world.until(mutex(fixedProcess(world, OPTIONS).locks, "a").acquire());
  };

  it("that refused the claim: nothing was written", async () => {
    await expectError(acquireOn({ colour: { S: "red" } }), {
      ...{ code: "foreign-record", lockName: "a" },
      ...{ mentions: ["Nothing was written"], omits: ["undoes the claim"] },
    });
  });

  it("that refused the claims of several locks: nothing was written", async () => {
    const world = new World();
    world.table.putItem(KEY, { colour: { S: "red" } });
    const { locks } = fixedProcess(world, OPTIONS);
    await expectError(world.until(all(locks, ["a", "b"]).acquire()), {
      ...{ code: "foreign-record", lockName: "a" },
      ...{ mentions: ["Nothing was written"], omits: ["undoes the claim"] },
    });
  });

  it("that the claim was applied to: the claim is undone", async () => {
    const item = { v: { N: "1" }, version: { N: "3" }, fence: { N: "7.5" } };
    await expectError(acquireOn({ ...item, lastHolder: { S: "h" } }), {
      ...{ code: "foreign-record", lockName: "a" },
      ...{ mentions: ["undoes the claim"], omits: ["Nothing was written"] },
    });
  });
});
