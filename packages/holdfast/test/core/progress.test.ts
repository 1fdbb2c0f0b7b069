import { describe, expect, it } from "vitest";
import { leftByRecord } from "../../src/core/queue/progress.js";
import type { ObservedRecord } from "../../src/core/record/observation.js";

const FREE = { state: "free", version: 1n, lastHolder: undefined, owner: undefined } as const;

function record(served: bigint | undefined, fence: bigint): ObservedRecord {
  return { ...FREE, fence, queue: { tail: 2_000n, served }, request: undefined };
}

/** A waiter with ticket 1,100, which counted 80 predecessors at fence 7. */
const SEEN = { known: 80, ticket: 1_100n, counted: { before: 80, fence: 7n }, isHeld: true };

describe("leftByRecord", () => {
  it("finds the turn of a waiter whose ticket follows the last granted ticket", () => {
    for (const known of [1, 40, 80]) {
      expect(leftByRecord({ ...SEEN, known, record: record(1_099n, 60n) })).toBe(0);
    }
  });

  it.each([
    [7n, 80],
    [8n, 79],
    [46n, 41],
    // From half the distance on, the waiter counts again.
    [47n, undefined],
    [200n, undefined],
  ])("subtracts the grants since the last count: at fence %d, %s are left", (fence, left) => {
    expect(leftByRecord({ ...SEEN, record: record(1_030n, fence) })).toBe(left);
  });

  it("leaves the nearest sixteen predecessors to a read of the queue", () => {
    const counted = { before: 18, fence: 7n };
    expect(leftByRecord({ ...SEEN, known: 18, counted, record: record(1_081n, 8n) })).toBe(17);
    expect(leftByRecord({ ...SEEN, known: 18, counted, record: record(1_081n, 9n) })).toBe(
      undefined,
    );
  });

  it("lets the next waiter read the queue only when the lock is not held", () => {
    const next = { ...SEEN, known: 1, record: record(1_097n, 8n) };
    expect(leftByRecord({ ...next, isHeld: true })).toBe(1);
    expect(leftByRecord({ ...next, isHeld: false })).toBe(undefined);
  });

  it("finds nothing in an absent or unknown record", () => {
    expect(leftByRecord({ ...SEEN, record: { state: "absent" } })).toBe(undefined);
    expect(leftByRecord({ ...SEEN, record: undefined })).toBe(undefined);
  });
});
