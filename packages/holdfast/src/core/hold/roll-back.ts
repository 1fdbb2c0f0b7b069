import type { SignalLike } from "../../platform/abort.js";
import { AGAIN, type Backoff, retry } from "../../platform/retry.js";
import { type Change, isJudged } from "../../platform/table.js";
import { doubling, steady } from "../backoff.js";
import type { ClientContext } from "../context.js";
import type { Holders, RecordRef } from "../record/format.js";
import { freeOnce, RELEASE_RETRY_MS } from "./release.js";

/** An abandoned, unacknowledged write with a possible grant. */
interface AbandonedGrant {
  /** The holder id of that grant. */
  readonly attempt: string;
  /** The lease of that grant, in milliseconds. */
  readonly leaseMs: number;
  /** The holder or free record before the grant, or undefined if the grant is a claim. */
  readonly replaced: Holders | undefined;
  /** The number of unacknowledged sends. DynamoDB can apply each send of a claim once. */
  readonly sends: number;
  readonly pauseMs: number;
  /** Whether the data of a claim are to outlast their holder, or may have been in the record before. */
  readonly keepData?: boolean;
  /** The further attributes that this grant writes. */
  readonly attributes?: Change["set"] | undefined;
  /**
   * The pause before each attempt, also before the first, if DynamoDB has not answered for half of a lease: the
   * acquisition reads the record itself, and this must not double the load when DynamoDB answers again.
   */
  readonly silencePauseMs?: number | undefined;
}

const ROLLED_BACK = { kind: "rolled back" } as const;

/**
 * Undoes an abandoned grant, or makes the grant fail, in the background (R14). A takeover names the former holder, so
 * one answered request is enough. A claim may still be in flight, and no write can make a claim fail. So for a claim
 * the rollback repeats, with pauses, for the length of the lease. An answer that shows that the grant blocks a queue ends
 * the pause: the waiters of other processes cannot know that no process uses the grant. A closing client repeats it until
 * one answer, for at most the close timeout.
 */
export function rollBack(context: ClientContext, ref: RecordRef, grant: AbandonedGrant): void {
  context.abandon(grant.attempt);
  const { pauseMs, silencePauseMs, sends, attributes, replaced } = grant;
  // Where the grant never arrived, the record may still be the former holder's, with its data.
  const keepData = grant.keepData === true || replaced !== undefined;
  // Without the record, a late copy of the claim would find the state that it needs.
  const options = { keepData, keepRecord: true, attributes };
  const from = { ...replaced, maybe: [grant.attempt] };
  let landed = 0;
  let isFreeing = false;
  let isAnswered = false;
  const isOver = (): boolean => landed > 0 && landed === sends;
  const free = async () => {
    // No delayed send can be applied while this client holds the record.
    if (isFreeing || isOver() || context.holds.ofRecord(ref.id) !== undefined) return AGAIN;
    isFreeing = true;
    // Credentials expire and are replaced, so a refused rollback is sent again, too.
    const timeoutMs = context.timeoutWithin(context.closesByMs - context.nowMs());
    const answer = context.healing(await freeOnce(context, ref, from, options, timeoutMs));
    isFreeing = false;
    if (answer.kind === "applied") landed += 1;
    isAnswered ||= isJudged(answer);
    return answer;
  };
  const unwatch = context.abandoned.watch(grant.attempt, () =>
    context.inBackground(async () => void (await free())),
  );
  const untilMs = context.nowMs() + grant.leaseMs;
  let mustPause = silencePauseMs !== undefined;
  const attempt = async () => {
    const answer = mustPause ? AGAIN : await free();
    mustPause = false;
    if (isOver()) return ROLLED_BACK;
    return isJudged(answer) && replaced === undefined && !context.closing.aborted ? AGAIN : answer;
  };
  const repeat = (backoff: Backoff, signal?: SignalLike) =>
    retry(context, attempt, {
      ...{ backoff, signal, onMisconfigured: "end", keepsAlive: false },
      isOver: () => context.nowMs() >= Math.min(untilMs, context.closesByMs),
    });
  const undo = async () => {
    const backoff = silencePauseMs === undefined ? doubling(pauseMs) : steady(silencePauseMs);
    const { kind } = await repeat(backoff, context.closing);
    // No later attempt of this client would free the record.
    if (kind === "aborted" && !isAnswered) await repeat(steady(RELEASE_RETRY_MS));
  };
  context.inBackground(() => undo().finally(unwatch));
}
