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
  /** Whether the worker writes without a check of the lease. */
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
  /** The check before the write reported the loss of the lock. */
  | { readonly kind: "held back"; readonly fence: string; readonly reason: string }
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

/** A worker's event, with the worker's name and process id. */
export type WorkerEvent = FromWorker & { readonly worker: string; readonly pid: number };
