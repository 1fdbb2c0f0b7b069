import type { Onto } from "./format.js";
import type { Observation } from "./observation.js";
import { isQueued } from "./record.js";

/** What to do about a record, given what was seen of it. */
export type Decision =
  /** Nobody holds it, as far as is known: try to claim it. */
  | { readonly kind: "claim"; readonly onto: Onto }
  /**
   * Its holder was watched dead, or is an id that this process gave up itself (R14): take it,
   * conditional on exactly what was seen (R4).
   */
  | { readonly kind: "take over"; readonly holder: string; readonly version: bigint }
  /** Somebody holds it. On the monotonic clock it can be taken at `takeableAtMs` at the earliest. */
  | { readonly kind: "wait"; readonly takeableAtMs: number }
  /** There is no record, and only one that exists is wanted. */
  | { readonly kind: "missing" }
  /** It is free, but a queue stands before it, and this claim carries no ticket. */
  | { readonly kind: "queued" };

/** What a decision depends on besides the record. */
export interface Circumstances {
  /** The monotonic clock, milliseconds. */
  readonly nowMs: number;
  /** The stated bound on how much faster or slower a clock can run, as a fraction. */
  readonly driftBound: number;
  /** Whether this process gave up, or released, the holder of this id. */
  readonly isAbandoned: (holder: string) => boolean;
  /** Claim only a record that exists. */
  readonly onlyIfExists: boolean;
}

/**
 * The one place where it is decided who may take a lease, and when. Pure, so that one table of cases
 * can test it and a model can be compared with it.
 */
export function decide(seen: Observation | undefined, now: Circumstances): Decision {
  if (seen === undefined) {
    return { kind: "claim", onto: { kind: now.onlyIfExists ? "existing" : "blind" } };
  }
  const { record } = seen;
  switch (record.state) {
    case "absent":
      return now.onlyIfExists ? { kind: "missing" } : { kind: "claim", onto: { kind: "absent" } };
    case "free":
      return isQueued(record.queue)
        ? { kind: "queued" }
        : { kind: "claim", onto: { kind: "free", fence: record.fence } };
    case "held": {
      if (isQueued(record.queue)) {
        return { kind: "wait", takeableAtMs: Number.POSITIVE_INFINITY };
      }
      const takeableAtMs = seen.sinceMs + watchMs(record.leaseMs, now.driftBound);
      return now.nowMs >= takeableAtMs || now.isAbandoned(record.holder)
        ? { kind: "take over", holder: record.holder, version: record.version }
        : { kind: "wait", takeableAtMs };
    }
  }
}

/**
 * For how long a holder must have been silent before it counts as dead, in milliseconds: its own
 * lease, by a watcher's clock that may run fast while the holder's runs slow (R3).
 */
export function watchMs(leaseMs: number, driftBound: number): number {
  return leaseMs * (1 + 2 * driftBound);
}

/**
 * For how long after the instant before a request was sent its holder may act, in milliseconds: less
 * than the lease by twice the drift bound, and by the step in which the boot clock counts (R2).
 */
export function holdMs(leaseMs: number, driftBound: number): number {
  return leaseMs * (1 - 2 * driftBound) - BOOT_CLOCK_STEP_MS;
}

const BOOT_CLOCK_STEP_MS = 10;
