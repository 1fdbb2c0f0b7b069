import type { AcquireContext } from "../core/acquire/context.js";
import type { PermitPart } from "../core/permits/part.js";
import type { RecordRef } from "../core/record/format.js";
import type { Inspection } from "./inspect.js";

/** A lock as one of several: its record, and for a permit what the acquisition of all needs of it. */
export interface Member {
  readonly ref: RecordRef;
  readonly context: AcquireContext;
  readonly permit?: {
    /** Returns a part for one acquisition. */
    part(owner: string): PermitPart;
    inspect(): Promise<Inspection>;
  };
}

/** Returns the member that a lock is; undefined for a value that cannot be one of several locks. */
export function memberOf(lock: object): Member | undefined {
  return (lock as { readonly member?: Member }).member;
}
