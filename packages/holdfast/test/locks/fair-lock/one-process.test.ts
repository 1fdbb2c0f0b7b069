import { describe, expect, it } from "vitest";
import { FOR_EVER, NAME } from "../../../../../test/support/queue.js";
import { inWorld } from "../../../../../test/support/world.js";
import type { FaultRequest } from "../../../../testing/src/faults/fault-plan.js";
import { all, fairLock } from "../../../src/index.js";

const isRelease = (request: FaultRequest): boolean =>
  request.kind === "write" && request.write.change.remove.includes("holder");

/** A holder whose release takes two seconds, and a local waiter that arrives meanwhile. */
async function slowRelease(other: "fair lock" | "several locks") {
  const { world, locks, network } = inWorld();
  const held = await world.until(fairLock(locks, NAME).acquire());
  const holder = world.record(NAME)?.["holder"];
  let lost: unknown;
  held.signal.addEventListener("abort", () => {
    lost = held.signal.reason;
  });
  network.script((request) =>
    isRelease(request) ? { fault: "reordered", delayMs: 2_000 } : undefined,
  );
  const released = held.release();
  // The release has found no local waiter, and frees the lock.
  await world.time.advance(1);
  const lock = other === "fair lock" ? fairLock(locks, NAME) : all(locks, [NAME, "b"]);
  const waiting: Promise<{ readonly isHeld: boolean }> = lock.acquire({ wait: FOR_EVER });
  await world.until(released);
  const record = world.record(NAME);
  const next = await world.until(waiting);
  return { holder, record, next, lost: () => lost };
}

describe("a release in flight", () => {
  it.each(["fair lock", "several locks"] as const)(
    "is not overtaken by another acquisition of its process (%s), and not told as a loss",
    async (other) => {
      const { holder, record, next, lost } = await slowRelease(other);
      expect(lost()).toBeUndefined();
      // The release freed the lock. The next waiter of the process claims a fair lock at once.
      expect(record?.["lastHolder"]).toEqual(holder);
      if (other === "several locks") expect(record?.["holder"]).toBeUndefined();
      expect(next.isHeld).toBe(true);
    },
  );
});
