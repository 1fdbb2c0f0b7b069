import type { Capability } from "../core/record/capability.js";
import type { RunWrites } from "../core/record/format.js";
import { withSet } from "./native.js";
import { all, equals, heldCondition, keysOf, n } from "./native-conditions.js";

/** The counts of a work whose calls are coalesced. */
export const RUNS: Capability<RunWrites> = {
  feature: "coalesced calls",
  why: "its records cannot count calls",
  of: (format) => {
    if (keysOf(format) === undefined) return undefined;
    return {
      // Changes neither the holder nor the version, so waiters see no sign of life.
      raise: (ref, held, wallMs) => ({
        key: ref.key,
        condition: all(equals("v", n(1n)), heldCondition(held)),
        change: { set: { calls: { incrementFrom: Math.floor(wallMs).toString() } }, remove: [] },
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
