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

const members = new WeakMap<object, () => Member>();

/** Notes how a semaphore, or a side of a read-write lock, joins other locks. */
export function noteMember(lock: object, member: () => Member): void {
  members.set(lock, member);
}

/** Returns the member that a lock is; undefined for a lock that notes none. */
export function memberOf(lock: object): Member | undefined {
  return members.get(lock)?.();
}
