import type { LeaseTransfer } from "../../../packages/holdfast/src/index.js";
import type { EndedLeases } from "./memory.js";
import type { WorldRings } from "./rings.js";

/**
 * - `calm world`: no faults.
 * - `crashing world`: processes die; no other faults.
 * - `world`: all faults, and forced releases.
 * - `late world`: leases of a minute, and none is lost: requests are late and doubled, and answers are lost.
 * - `cloned world`: as `world`, and all processes draw the same random numbers, as if restored from one snapshot.
 * - `aged world`: as `world`. Twice in a run, days pass while most processes rest, and TTL deletes expired items.
 * - `tampered world`: an operator deletes the records of locks by hand, restores earlier states, and
 *   makes free records unreadable for a while.
 */
export const WORLD_KINDS = [
  ...(["world", "calm world", "crashing world", "late world"] as const),
  ...(["cloned world", "aged world", "tampered world"] as const),
] as const;
export type WorldKind = (typeof WORLD_KINDS)[number];

/** The step of a coarse boot clock, in milliseconds. */
export const COARSE_STEP_MS = 1_000;

/** The operations of a process. */
export type OperationName =
  | "mutex"
  | "fairLock"
  | "multiLock"
  | "semaphore"
  | "readWriteLock"
  | "import"
  | "election"
  | "resignRequest"
  | "burst";

/** Everything a seed decides about the operations of a run. */
export interface World {
  /** The frequency of each operation. */
  readonly weights: Readonly<Record<OperationName, number>>;
  /** The probability that the operator of a process forces the release of a lock that is held for long. */
  readonly forces: number;
  /** The time between two occurrences of a task, in milliseconds; 0: the run has no tasks. */
  readonly tasksEveryMs: number;
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
  /** Whether the run has all faults. */
  readonly isWild: boolean;
  /** Whether the boot clocks of some processes have steps of a second. */
  readonly hasCoarseClocks: boolean;
  /** Whether answers are often slow, and no request times out before the shortest lease. */
  readonly answersSlowly: boolean;
  /** Whether clocks are wrong by up to a month, so that the table refuses the first signature of a process. */
  readonly hasWrongClocks: boolean;
  /**
   * How far the last ticket of each lock is ahead of the clock at the start of the run; undefined: the locks have no
   * record. A clock that was ahead gave this ticket.
   */
  readonly ticketsAheadMs: number | undefined;
  /** Whether the session of each process stays open until the end of the checks, and some writes are refused. */
  readonly keepsSessions: boolean;
  /** How many requests a process sends at once; undefined: any number. */
  readonly connections: number | undefined;
}

/** A grant that its holder keeps for long: the record, the process, and the true time in milliseconds. */
export interface LongHold {
  readonly name: string;
  readonly by: string;
  readonly grantedMs: number;
}

/** The data that processes exchange outside of the table. */
export interface Exchange {
  /** The last transfers. Any process may import them, later, perhaps more than once. */
  readonly transfers: LeaseTransfer[];
  /** The longest reservation of a transfer, in milliseconds. */
  longestMs: number;
  /** The last occurrence of each task that a process called for. */
  readonly due: Map<string, number>;
  /** The latest occurrence whose end its process could not record for a while. */
  unended: { readonly number: number } | undefined;
  /** The latest long hold. */
  longHold: LongHold | undefined;
  /** The leases that were released. */
  readonly ended: EndedLeases;
  /** How the processes ring each other, in some runs. */
  readonly rings: WorldRings | undefined;
}
