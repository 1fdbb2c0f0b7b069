import { PERMITS } from "../../native/native-permits.js";
import { instantOf } from "../../platform/clock.js";
import { type Backoff, retry } from "../../platform/retry.js";
import { retryPauseMs, spread } from "../backoff.js";
import { Hold } from "../hold/hold.js";
import { forcedIn } from "../hold/loss.js";
import { freeOnce } from "../hold/release.js";
import { lossOf } from "../hold/writes.js";
import { requireCapability } from "../record/capability.js";
import type { RecordRef } from "../record/format.js";
import type { PermitGrant } from "../record/permit-writes.js";

/** What replaces a permit. */
export interface Exchange {
  /** The record of the permit. */
  readonly ref: RecordRef;
  readonly weight: number;
  readonly limit: number;
}

/**
 * Replaces a held permit by a lighter one, with another id and a new fence, in one write. The old permit ends in this
 * process first, without a loss: others may get what it gave up before the answer arrives. Sends the same write until
 * it is answered: its condition is the old permit, so it takes effect once. Rejects with `lost` if the old permit was
 * lost or an operator has asked its holder to release, or if the session ends before an answer; or with the error of a
 * wrong configuration. Frees both permits, in the background, if it rejects while the session lives.
 */
export async function exchange(from: Hold, { ref, weight, limit }: Exchange): Promise<Hold> {
  const { context, settings, held } = from;
  const { life } = from.living;
  if (life === undefined || !from.beginRelease()) throw lossOf(from);
  // Between the two permits, a client may have no other use for its session, and would close it.
  const { keptAliveBy } = settings;
  const source = (keptAliveBy as unknown) === life ? undefined : keptAliveBy;
  source?.begun(from);
  const permits = requireCapability(context.format, PERMITS);
  const start = instantOf(context.clock);
  const holder = context.random.id();
  const grant: PermitGrant = {
    ...{
      holder,
      weight,
      limit,
      isStored: true,
      session: life.id,
      leaseMs: life.leaseMs,
      owner: settings.owner,
    },
    ...{ wallMs: context.wallMs(), fenceSeed: context.fenceSeed(ref), oldMarks: [] },
  };
  const write = permits.exchange(from.ref, held, grant);
  const own = permits.permitOf(ref, { holder, weight, leavesMark: false });
  context.ownPermits.add(holder);
  // Only the session's end counts: the old permit has ended, and the longest time of its holder may be over.
  const leftMs = () => life.deadline.remainingMs();
  const attempt = () => context.writeWithin(write, leftMs);
  const backoff: Backoff = (fraction) =>
    spread(retryPauseMs(life.leaseMs, leftMs(), context.clock, context.throttledBy()), fraction);
  const isOver = (): boolean => !life.isHeld;
  let to: Hold | undefined;
  try {
    const retried = await context.tracked(
      from.requests.run(() => retry(context, attempt, { backoff, isOver })),
    );
    const item = retried.kind === "answered" ? retried.answer.item : undefined;
    const record = context.format.codec.read(item, own);
    if (record.state !== "held" || !life.isHeld) {
      // An operator, or a client that saw the session end, has removed the old permit, or will remove both.
      const forced = forcedIn(context.format.codec.read(item, from.ref), held);
      const reason = forced === undefined ? "stolen" : "released-by-force";
      from.lostBeforeRelease(life.isHeld ? reason : "session-ended", forced);
      throw lossOf(from);
    }
    to = new Hold(context, own, from.localQueue, { record, start, settings });
    life.keep(to);
    context.noteGrant?.(context, { hold: to, record, how: "hand-over" });
    return to;
  } finally {
    context.ownPermits.delete(held.holder);
    if (to === undefined) freeBoth(from, own);
    source?.ended(from);
  }
}

/**
 * Frees the permit that an exchange replaces. If DynamoDB has applied the exchange, frees the new permit instead: the
 * session keeps alive whichever permit the record has. Once the old permit is gone, no late copy of the exchange can be
 * applied.
 */
function freeBoth({ context, ref, held, living }: Hold, to: RecordRef): void {
  const holder = to.permit?.holder ?? "";
  const { has } = requireCapability(context.format, PERMITS);
  context.ownPermits.delete(holder);
  living.life?.untilAnswered(async () => {
    const freed = await freeOnce(context, ref, { known: held }, { keepData: false });
    if (freed.kind !== "refused" || !has(freed.item, holder)) return freed;
    return freeOnce(context, to, { maybe: [holder] }, { keepData: false });
  });
}
