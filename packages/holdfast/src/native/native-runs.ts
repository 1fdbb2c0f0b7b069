import type { Capability } from "../core/record/capability.js";
import type { RunWrites } from "../core/record/format.js";
import type { Increment } from "../platform/table.js";
import { withSet } from "./native.js";
import { all, equals, heldCondition, keysOf, n } from "./native-conditions.js";

/** The counts of a work whose calls are coalesced. */
export const RUNS: Capability<RunWrites> = {
  feature: "coalesced calls",
  why: "its records cannot count calls",
  of: (format) => {
    if (keysOf(format) === undefined) return undefined;
    return {
      granted: (wallMs, completed) => ({
        calls: nextCall(wallMs),
        ...(completed === undefined ? {} : { ran: n(completed) }),
      }),
      // Changes neither the holder nor the version, so waiters see no sign of life.
      raise: (ref, held, wallMs) => ({
        key: ref.key,
        condition: all(equals("v", n(1n)), heldCondition(held)),
        change: { set: { calls: nextCall(wallMs) }, remove: [] },
      }),
      settle: (ref, held, covered, options) => {
        const { key, condition, change } = format.lease.free(ref, { known: held }, options);
        const ran = n(covered);
        // A call since the grant has changed the number: its run must begin after it.
        return {
          key,
          condition: all(condition, equals("calls", ran)),
          change: withSet(change, { ran }),
        };
      },
    };
  },
};

// The first number lets the numbers rise on if the record was deleted: a caller may still wait for an earlier one.
function nextCall(wallMs: number): Increment {
  return { incrementFrom: Math.floor(wallMs).toString() };
}
