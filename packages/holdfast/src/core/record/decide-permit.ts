import type { Decision } from "./decide.js";
import type { AbsentRecord, PermitInRecord, SharedRecord } from "./permits.js";
import { type Passage, standing } from "./record.js";

/** What an acquisition asks of a record with permits. */
interface PermitWish {
  readonly weight: number;
  /** The limit that the caller gives to a record without one. */
  readonly limit: number;
  /** Whether the caller goes by another limit in the record. */
  readonly adopts: boolean;
  readonly passage?: Passage | undefined;
  /** How often DynamoDB did not serve a request about a session: each time another holder has its turn. Default 0. */
  readonly unserved?: number;
  /** Whether the caller gives up if there is no room, so that a queue which may be left by all its waiters costs nothing. */
  readonly tries?: boolean;
}

/** The next step of an acquisition of a permit. */
export type PermitDecision =
  /** The permit may fit: send the grant. Only the record's own condition decides. */
  | { readonly kind: "grant" }
  /** The record has another limit, which the caller refuses, or which its weight exceeds: it would wait for ever. */
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
  { weight, limit: own, adopts, passage, unserved = 0, tries = false }: PermitWish,
  holderOf: (permit: PermitInRecord) => Decision,
): PermitDecision {
  if (record === undefined || record.state === "absent") return { kind: "grant" };
  const { limit = own } = record;
  const mayGoBy = limit === own || (adopts && weight <= limit);
  if (!mayGoBy) return { kind: "limit-mismatch", limit };
  const inQueue = standing(record.queue, passage);
  if (inQueue === "passed-over" || (inQueue === "queued" && !tries)) return { kind: inQueue };
  const decision = decideRoom(record, weight, limit, unserved, holderOf);
  const grants = decision.kind === "grant" || decision.kind === "remove";
  return grants && inQueue === "queued" ? { kind: inQueue } : decision;
}

function decideRoom(
  record: SharedRecord,
  weight: number,
  limit: number,
  unserved: number,
  holderOf: (permit: PermitInRecord) => Decision,
): PermitDecision {
  if (record.used + weight <= limit) return { kind: "grant" };
  const endings: PermitDecision[] = [];
  let unseen: PermitDecision | undefined;
  let untilMs = Number.POSITIVE_INFINITY;
  for (const permit of record.permits) {
    const decision = holderOf(permit);
    if (decision.kind === "take-over") return { kind: "remove", permit };
    if (decision.kind === "end-session") endings.push(decision);
    if (decision.kind === "look-at-session") unseen ??= decision;
    if (decision.kind === "wait") untilMs = Math.min(untilMs, decision.acquirableAtMs);
  }
  const steps = unseen === undefined ? endings : [...endings, unseen];
  return steps[unserved % steps.length] ?? { kind: "wait", untilMs };
}
