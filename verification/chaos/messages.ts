/** The setup of one worker process. */
export interface WorkerSetup {
  /** The worker's name in the history, unique in the run. */
  readonly name: string;
  readonly endpoint: string;
  readonly table: string;
  readonly seed: number;
  /** The names of the locks to acquire. */
  readonly names: readonly string[];
  /** The pauses between two reads of a waiter, in milliseconds. */
  readonly pollMs: { readonly min: number; readonly max: number };
  /** The number of concurrent acquisitions. */
  readonly tasks: number;
  /** The shortest and the longest lease, in milliseconds. */
  readonly leaseMs: readonly [number, number];
  /**
   * What keeps the worker's leases alive: renewals of each lease, sessions of the worker, or the client's shared
   * session.
   */
  readonly keptAliveBy: "leases" | "sessions" | "shared";
  /** The limit of the semaphores to acquire in place of locks. */
  readonly permits?: number | undefined;
}

/** A worker's message to the referee, a JSON object per line. Fences are digits. */
export type FromWorker =
  /** The worker is ready, and can be asked to finish. */
  | { readonly kind: "ready" }
  /** The worker is about to check a lease, and waits for one byte from the referee. */
  | { readonly kind: "asks" }
  /** The result of the check. `isFirst`: the lease was just handed out. */
  | {
      readonly kind: "asked";
      readonly name: string;
      readonly fence: string;
      readonly isHeld: boolean;
      readonly isFirst: boolean;
      /** The weight of a permit. */
      readonly weight?: number | undefined;
    }
  | {
      readonly kind: "lost";
      readonly name: string;
      readonly fence: string;
      readonly reason: string;
    }
  | { readonly kind: "released"; readonly name: string; readonly fence: string }
  | { readonly kind: "waits"; readonly name: string }
  | { readonly kind: "gave up"; readonly name: string; readonly code: string }
  /** The library, or the worker, broke a rule. */
  | { readonly kind: "failed"; readonly what: string };

/** The worker's file descriptor on which the referee listens. */
export const REFEREE_FD = 3;

/** Returns the key of a grant's ledger: a new key from time to time, since items are small. */
export function ledgerKeyOf(name: string, fence: bigint): string {
  return `ledger#${name}#${fence / 300n}`;
}
