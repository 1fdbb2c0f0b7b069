import type { Lease } from "../core/hold/lease.js";

/** What a body made of its lease: `run` releases the read lease of a writer, which has replaced the write lease. */
const heirs = new WeakMap<Lease, Promise<Lease>>();

/** Leases of `all()`, also of a single lock, and their parts: they end together. */
const joint = new WeakMap<object, object>();

/** Notes that this lease is `whole`, that of `all()`, or a part of it: whoever has a part has the whole. */
export function noteJoint(lease: object, whole: object): void {
  joint.set(lease, whole);
}

/** Whether this lease is that of `all()`, or a part of it. */
export function isJoint(lease: object): boolean {
  return joint.has(lease);
}

/** Notes that the promised lease replaces this lease. */
export function noteHeir(lease: Lease, heir: Promise<Lease>): void {
  heirs.set(lease, heir);
}

/** Returns the lease that has replaced this lease, or this lease. */
export async function heirOf(lease: Lease): Promise<Lease> {
  return (await heirs.get(lease)?.catch(() => undefined)) ?? lease;
}
