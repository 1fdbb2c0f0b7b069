/** How a worker of the demo is set up. */
export interface WorkerSetup {
  readonly worker: string;
  readonly table: string;
  readonly region?: string;
  readonly endpoint?: string;
  /** The lock's name. */
  readonly lock: string;
  readonly ledger: string;
  readonly leaseMs: number;
  /** Whether it writes without asking whether it still holds the lock. */
  readonly isBroken: boolean;
}

/** From the director to a worker. */
export type ToWorker = { readonly kind: "go" } | { readonly kind: "finish" };

/** From a worker to the director. */
export type FromWorker =
  | { readonly kind: "ready" }
  | { readonly kind: "acquired"; readonly fence: string }
  | { readonly kind: "wrote"; readonly fence: string; readonly count: number }
  | { readonly kind: "released"; readonly fence: string; readonly count: number }
  /** It asked before it wrote, and was told that the lock is lost. */
  | { readonly kind: "held back"; readonly fence: string; readonly reason: string }
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

/** What a worker told, and who it is. */
export type WorkerEvent = FromWorker & { readonly worker: string; readonly pid: number };
