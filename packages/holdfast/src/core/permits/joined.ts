import type { Instant } from "../../platform/clock.js";
import type { Write } from "../../platform/table.js";
import { blindTable } from "../acquire/grant.js";
import type { JoinedGrants } from "../acquire/grant-many.js";
import type { Granted } from "../acquire/settings.js";
import type { Shown } from "../context.js";
import type { RecordRef } from "../record/format.js";
import type { Found } from "../record/record.js";

/** One permit in a transaction of grants. */
export interface JoinedGrant {
  readonly ref: RecordRef;
  readonly holder: string;
  readonly write: Write;
  /** Whether the write requires that the record is absent. */
  readonly isOntoAbsent: boolean;
  /** Whether a grant can begin now: its session is alive. */
  readonly isHeld: boolean;
  /** Notes the record in a refusal, and returns what it says of this grant. */
  see(shown: Shown): Found;
  /** Begins the applied grant. `start`: the instant before the first send. */
  begin(start: Instant): Granted;
  /** Ends the attempt. `mayBeApplied`: DynamoDB has applied a send, or may still apply one. */
  giveUp(mayBeApplied: boolean): void;
}

/** Returns the permits of a transaction as one. */
export function joinedOf(grants: readonly JoinedGrant[]): JoinedGrants | undefined {
  if (grants.length === 0) return undefined;
  return {
    writes: grants,
    get isHeld() {
      return grants.every(({ isHeld }) => isHeld);
    },
    addTo({ refusals, isReadLater }, shown, holders) {
      for (const [index, grant] of grants.entries()) {
        const refusal = refusals[refusals.length - grants.length + index];
        const found = refusal && grant.see(refusal);
        // As for a lock: the only condition was "absent", so DynamoDB returned no item with the refusal.
        if (found?.state === "absent" && grant.isOntoAbsent && isReadLater !== true) {
          throw blindTable(grant.ref.name);
        }
        shown.push(found);
        holders.push(grant.holder);
      }
    },
    begin: (start) => grants.map((grant) => grant.begin(start)),
    giveUp: (sends) => {
      for (const grant of grants) grant.giveUp(sends > 0);
    },
  };
}
