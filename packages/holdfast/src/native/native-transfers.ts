import type { Capability } from "../core/record/capability.js";
import type { TransferWrites } from "../core/record/format.js";
import { keysOf } from "./native-conditions.js";

/** The transfer of a lock to another process. */
export const TRANSFERS: Capability<TransferWrites> = {
  feature: "transfers",
  why: "its other clients ignore the reservation of a lock for an importer",
  of: (format) => {
    if (keysOf(format) === undefined) return undefined;
    return {
      // A transfer passes the queue: the importer gets the lock from the exporter, and waits for no other process.
      reserve: (ref, grant, from) =>
        format.lease.handOver(ref, { ...grant, passage: { kind: "barge" } }, from),
    };
  },
};
