/** What one worker process is to do. */
export interface WorkerSetup {
  /** Its name in the history; no two processes of a run have the same. */
  readonly name: string;
  readonly endpoint: string;
  readonly table: string;
  readonly seed: number;
  /** The names of the locks that it contends for. */
  readonly names: readonly string[];
  /** How many acquisitions it has under way at a time. */
  readonly tasks: number;
  /** The shortest and the longest lease, in milliseconds. */
  readonly leaseMs: readonly [number, number];
  /** What its leases live by: their own renewals, sessions that it opens, or the client's shared one. */
  readonly keptAliveBy: "leases" | "sessions" | "shared";
}

/** What a worker tells the referee, one JSON object a line. Fences are digits. */
export type FromWorker =
  /** "From now on I can be asked to finish." */
  | { readonly kind: "ready" }
  /** "I am about to ask a lease whether it is held." Answered with one byte, which is waited for. */
  | { readonly kind: "asks" }
  /** What the lease answered. `isFirst`: it was just handed out. */
  | {
      readonly kind: "asked";
      readonly name: string;
      readonly fence: string;
      readonly isHeld: boolean;
      readonly isFirst: boolean;
    }
  | {
      readonly kind: "lost";
      readonly name: string;
      readonly fence: string;
      readonly reason: string;
    }
  | { readonly kind: "released"; readonly name: string; readonly fence: string }
  | { readonly kind: "gave up"; readonly name: string; readonly code: string }
  /** The library, or the worker itself, did what it never may. */
  | { readonly kind: "failed"; readonly what: string };

/** The file descriptor of a worker on which the referee listens. */
export const REFEREE_FD = 3;

/** The key of the ledger that a grant writes to: a new one now and then, since items are small. */
export function ledgerKeyOf(name: string, fence: bigint): string {
  return `ledger#${name}#${fence / 300n}`;
}
