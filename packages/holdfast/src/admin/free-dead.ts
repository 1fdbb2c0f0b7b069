import type { AcquireContext } from "../core/acquire/context.js";
import { decideHolder } from "../core/decide-holder.js";
import type { Decision } from "../core/record/decide.js";
import type { RecordRef } from "../core/record/format.js";
import type { ForcedRelease, HeldRecord, LeaseRecord } from "../core/record/record.js";
import { forcedRequest } from "../native/native-values.js";
import { Abort } from "../platform/abort.js";
import { isJudged } from "../platform/table.js";
import { type Result, writeOnce } from "./bounded-retry.js";

/** Judges the holder. Ignores the queue: waiters do not show whether the holder lives. */
function judge(context: AcquireContext, ref: RecordRef, record: HeldRecord): Decision {
  const { holder, fence, session, leaseMs } = record;
  // A client keeps no observation of a permit.
  return ref.permit !== undefined && session !== undefined
    ? decideHolder(context, { holder, fence, session, leaseMs })
    : context.decide(ref, false, { kind: "barge" });
}

/** Whether the holder in the record counts as dead. */
export function isDead(context: AcquireContext, ref: RecordRef, record: HeldRecord): boolean {
  const { kind } = judge(context, ref, record);
  return kind === "take-over" || kind === "end-session";
}

/**
 * Frees the record of a dead holder, on condition of exactly this holder and version, as a takeover does. If the holder
 * uses a session, ends the session first, and frees the record only if the session has then ended: the condition on the
 * record does not show a renewal of the session. Answers with the record after the write. If DynamoDB refused a write,
 * this record shows a live holder or another change.
 */
export async function freeDead(
  context: AcquireContext,
  ref: RecordRef,
  record: HeldRecord,
  forced: ForcedRelease,
  signal?: AbortSignal,
): Promise<Result<LeaseRecord>> {
  const decision = judge(context, ref, record);
  if (decision.kind === "end-session") {
    const ended = await context.sessions.end(decision, forced.by, signal ?? new Abort());
    if (!isJudged(ended)) return ended;
  }
  // A refusal shows that the session is alive, or that it has already ended.
  if (judge(context, ref, record).kind !== "take-over") return { kind: "answered", value: record };
  const options = { keepData: true, lastHolder: record.holder, forced: forcedRequest(forced) };
  return writeOnce(context, ref, context.freeing(ref, { watched: record }, options), signal);
}
