import type { LeaseTransfer } from "../../../src/index.js";
import type { EndedLeases } from "./memory.js";

/**
 * - `calm world`: no faults.
 * - `crashing world`: processes die; no other faults.
 * - `world`: all faults, and forced releases.
 * - `late world`: leases of a minute, and none is lost: requests are late and doubled, and answers are lost.
 * - `cloned world`: as `world`, and all processes draw the same random numbers, as if restored from one snapshot.
 * - `tampered world`: an operator deletes the records of locks by hand, restores earlier states, and
 *   makes free records unreadable for a while.
 */
export const WORLD_KINDS = [
  ...(["world", "calm world", "crashing world", "late world"] as const),
  ...(["cloned world", "tampered world"] as const),
] as const;
export type WorldKind = (typeof WORLD_KINDS)[number];

/** The operations of a process. */
export type OperationName =
  | "mutex"
  | "fairLock"
  | "multiLock"
  | "semaphore"
  | "readWriteLock"
  | "import"
  | "forcedRelease"
  | "election"
  | "resignRequest"
  | "once";

/** Everything a seed decides about the operations of a run. */
export interface World {
  /** The frequency of each operation. */
  readonly weights: Readonly<Record<OperationName, number>>;
  /** The limit of the semaphores. */
  readonly permits: number;
  /** The probability of exporting a lease, where possible. */
  readonly exports: number;
  /** The probability of a long reservation for the importer. */
  readonly reservesLong: number;
  /** The probability of a client that acquires the released lock again at once. */
  readonly greed: number;
  /** The probability of a slow way to the table. */
  readonly slow: number;
  /** Whether all processes draw the same random numbers. */
  readonly areCopies: boolean;
  readonly isTampered: boolean;
}

/** The data that processes exchange outside of the table. */
export interface Exchange {
  /** The last transfers. Any process may import them, later, perhaps more than once. */
  readonly transfers: LeaseTransfer[];
  /** The longest reservation of a transfer, in milliseconds. */
  longestMs: number;
  /** The due occurrence of each task. */
  readonly due: Map<string, number>;
  /** The leases that were released. */
  readonly ended: EndedLeases;
}
