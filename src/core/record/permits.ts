import type { Decision } from "./decide.js";
import type { AbsentRecord, Passage, QueueState, UnreadableRecord } from "./record.js";
import { standing } from "./record.js";

export type { AbsentRecord };

/** One permit in a record. */
export interface PermitInRecord {
  readonly holder: string;
  /** Higher than the fence of every earlier permit of the record. */
  readonly fence: bigint;
  readonly weight: number;
  /** The session that keeps the permit alive. */
  readonly session: string;
  /** The length of that session, in milliseconds. */
  readonly leaseMs: number;
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
  /** What the permits weigh together. */
  readonly used: number;
  readonly permits: readonly PermitInRecord[];
  /** The withdrawn attempts, each with the time of its mark by the clock of the client that withdrew it. */
  readonly marks: readonly { readonly holder: string; readonly atMs: number }[];
}

/** Every possible content of the key of a record with permits. */
export type FoundPermits = AbsentRecord | SharedRecord | UnreadableRecord;

/** What an acquisition asks of a record with permits. */
export interface PermitWish {
  readonly weight: number;
  readonly limit: number;
  readonly passage?: Passage | undefined;
}

/** The next step of an acquisition of a permit. */
export type PermitDecision =
  /** The permit may fit: send the grant. Only the record's own condition decides. */
  | { readonly kind: "grant" }
  /** The record has another limit. */
  | { readonly kind: "limit-mismatch"; readonly limit: number }
  | { readonly kind: "queued" | "passed-over" }
  /** This permit is of a dead holder, and its session has ended: remove the permit. */
  | { readonly kind: "remove"; readonly permit: PermitInRecord }
  /** Every permit may be of a live holder. None counts as dead before `untilMs`, on the monotonic clock. */
  | { readonly kind: "wait"; readonly untilMs: number }
  | Extract<Decision, { readonly kind: "look-at-session" | "end-session" }>;

/**
 * Decides the next step for a permit. `holderOf` decides about the holder of another permit by its session, as
 * `decide` does about the holder of a lock: `take-over` means that the session has ended. Pure.
 */
export function decidePermit(
  record: AbsentRecord | SharedRecord | undefined,
  { weight, limit, passage }: PermitWish,
  holderOf: (permit: PermitInRecord) => Decision,
): PermitDecision {
  if (record === undefined || record.state === "absent") return { kind: "grant" };
  if (record.limit !== undefined && record.limit !== limit) {
    return { kind: "limit-mismatch", limit: record.limit };
  }
  const inQueue = standing(record.queue, passage);
  if (inQueue !== "open") return { kind: inQueue };
  if (record.used + weight <= limit) return { kind: "grant" };
  let unseen: PermitDecision | undefined;
  let untilMs = Number.POSITIVE_INFINITY;
  for (const permit of record.permits) {
    const decision = holderOf(permit);
    if (decision.kind === "take-over") return { kind: "remove", permit };
    if (decision.kind === "end-session") return decision;
    if (decision.kind === "look-at-session") unseen ??= decision;
    if (decision.kind === "wait") untilMs = Math.min(untilMs, decision.acquirableAtMs);
  }
  return unseen ?? { kind: "wait", untilMs };
}
