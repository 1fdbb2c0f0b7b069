import type { Lease } from "../core/hold/lease.js";

/** What a body made of its lease: `run` releases the read lease of a writer, which has replaced the write lease. */
const heirs = new WeakMap<Lease, Promise<Lease>>();

/** Leases that end with another one, of several locks. */
const parts = new WeakSet<Lease>();

/** Notes that this lease is one of several that are held together. */
export function notePart(lease: Lease): void {
  parts.add(lease);
}

/** Whether this lease is one of several that are held together. */
export function isPart(lease: Lease): boolean {
  return parts.has(lease);
}

/** Notes that the promised lease replaces this lease. */
export function noteHeir(lease: Lease, heir: Promise<Lease>): void {
  heirs.set(lease, heir);
}

/** Returns the lease that has replaced this lease, or this lease. */
export async function heirOf(lease: Lease): Promise<Lease> {
  return (await heirs.get(lease)?.catch(() => undefined)) ?? lease;
}
