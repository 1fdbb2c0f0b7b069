import type {
  AbsentRecord,
  HolderRequest,
  OnSession,
  QueueState,
  UnreadableRecord,
} from "./record.js";

export type { AbsentRecord };

/** One permit in a record. */
export interface PermitInRecord extends OnSession {
  readonly weight: number;
  readonly owner: string | undefined;
}

/** A record with any number of holders. */
export interface SharedRecord {
  readonly state: "shared";
  readonly fence: bigint;
  readonly version: bigint;
  readonly queue: QueueState;
  /** The most that all permits may weigh together. Undefined if no permit was ever granted. */
  readonly limit: number | undefined;
  /** How often an operator has set the limit. */
  readonly limitChanges: number;
  /** What the permits weigh together. */
  readonly used: number;
  readonly permits: readonly PermitInRecord[];
  /** The withdrawn attempts, each with the time of its mark by the clock of the client that withdrew it. */
  readonly marks: readonly { readonly holder: string; readonly atMs: number }[];
  /** The last request to a holder. */
  readonly request?: HolderRequest | undefined;
}

/** Every possible content of the key of a record with permits. */
export type FoundPermits = AbsentRecord | SharedRecord | UnreadableRecord;
