import { describe, expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { keyOf } from "../../../../testing/src/faults/fault-plan.js";
import {
  all,
  fairLock,
  type Holdfast,
  HoldfastError,
  mutex,
  openSession,
  semaphore,
} from "../../../src/index.js";

const DENIED = new HoldfastError("access-denied", "No permission for this session.", {
  cause: Object.assign(new Error("refused"), { name: "AccessDeniedException" }),
});
const FAULTS = [
  { fault: "throttled" },
  { fault: "misconfigured", error: DENIED },
  { fault: "request-lost" },
] as const;

describe.each(["read", "write"] as const)(
  "a waiter whose %ss of the holder's session are not served",
  (what) => {
    it.each([
      ["mutex", (locks: Holdfast) => mutex(locks, "x")],
      ["fair lock", (locks: Holdfast) => fairLock(locks, "x")],
      ["multi-lock", (locks: Holdfast) => all(locks, ["w", "x"])],
      ["semaphore", (locks: Holdfast) => semaphore(locks, "x", { permits: 1 })],
    ])("gets a %s after its release", async (kind, of) => {
      for (const fault of FAULTS) {
        const world = new World();
        const holder = world.inhabitant({ lease: "5s", sessionPrefix: "holder/" });
        const waiter = world.inhabitant({
          lease: "5s",
          sessionPrefix: "waiter/",
          onError: () => undefined,
        });
        const session = await world.until(openSession(holder.locks));
        const held = await world.until<{ release(): Promise<unknown> }>(
          kind === "semaphore"
            ? of(holder.locks).acquire()
            : mutex(holder.locks, "x", { session }).acquire(),
        );
        await world.time.advance(5_000);
        waiter.network.script((request) =>
          request.kind === what && JSON.stringify(keyOf(request)).includes("session#holder/")
            ? fault
            : undefined,
        );
        let isGranted = false;
        const waiting = of(waiter.locks)
          .acquire({ wait: Number.POSITIVE_INFINITY })
          .then(() => {
            isGranted = true;
          });
        await world.time.advance(20_000);
        expect(isGranted).toBe(false);
        await world.until(held.release());
        await world.time.advance(30_000);
        expect([fault.fault, isGranted]).toEqual([fault.fault, true]);
        await world.until(waiting);
      }
    });
  },
);
