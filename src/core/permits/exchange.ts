import { HoldfastError } from "../../errors.js";
import { instantOf } from "../../platform/clock.js";
import { retry } from "../../platform/retry.js";
import { noteGrant } from "../acquire/note-grant.js";
import { Hold } from "../hold/hold.js";
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
 * lost, or if the session ends before an answer.
 */
export async function exchange(from: Hold, { ref, weight, limit }: Exchange): Promise<Hold> {
  const { context, settings } = from;
  const { life } = from.living;
  if (life === undefined || !from.beginRelease()) throw lossOf(from);
  const permits = requireCapability(context.format, "permits");
  const start = instantOf(context.clock);
  const holder = context.random.id();
  const grant: PermitGrant = {
    ...{ holder, weight, limit, session: life.id, leaseMs: life.leaseMs, owner: settings.owner },
    ...{ wallMs: context.wallMs(), fenceSeed: context.fenceSeed(ref), oldMarks: [] },
  };
  const write = permits.exchange(from.ref, from.held, grant);
  const own = permits.permitOf(ref, { holder, weight, leavesMark: false });
  context.ownPermits.add(holder);
  const attempt = () => context.writeWithin(write, () => from.remainingMs());
  const { backoff } = from;
  const isOver = (): boolean => !life.isHeld;
  const retried = await context.tracked(
    from.requests.run(() => retry(context, attempt, { backoff, isOver })),
  );
  const record =
    retried.kind === "answered" ? context.format.codec.read(retried.answer.item, own) : undefined;
  if (record?.state !== "held" || !life.isHeld) {
    // Another client has removed the old permit, or removes both: the session has ended.
    context.ownPermits.delete(holder);
    from.lostBeforeRelease(life.isHeld ? "stolen" : "session-ended");
    throw lossOf(from);
  }
  const to = new Hold(context, own, from.localQueue, { record, start, settings });
  life.keep(to);
  context.ownPermits.delete(from.held.holder);
  noteGrant(context, { hold: to, record, how: "hand-over" });
  return to;
}

/** The error of a request for a heavier permit. */
export function cannotUpgrade({ name }: RecordRef): HoldfastError {
  return new HoldfastError(
    "invalid-argument",
    `The read lock "${name}" cannot become a write lock: two readers would wait for each other for ever. ` +
      "Release the read lock, and acquire the write lock; then read the protected data again.",
    { lockName: name },
  );
}
