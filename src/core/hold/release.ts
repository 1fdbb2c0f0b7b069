import { HoldfastError, isHoldfastError, type LossReason } from "../../errors.js";
import { instantOf } from "../../platform/clock.js";
import { mayBeApplied, type WriteAnswer } from "../../platform/table.js";
import type { ClientContext } from "../context.js";
import type { LocalWaiter } from "../local-queue.js";
import type { Held, Holders, RecordRef } from "../record/format.js";
import type { Found } from "../record/record.js";
import { actingMs, Deadline } from "./deadline.js";
import type { GrantResult, HoldQueue, HoldSettings } from "./hold.js";
import type { KeepAlive } from "./keep-alive.js";
import { lossIn } from "./loss.js";

/** A lease that has ended in this process, and is still in the table. */
export interface EndedLease {
  readonly held: Held;
  readonly leaseMs: number;
  readonly keepData: boolean;
  /** User data that the write which frees the record leaves there. */
  readonly lastData?: unknown;
  /** What its record may live by. */
  readonly life: Pick<KeepAlive<never>, "sweep"> | undefined;
}

/** Which holders of one chain of hand-overs the record may name, as far as answers told. */
interface HandoffChain {
  readonly former: EndedLease;
  known: Held;
  maybe: string[];
  /** Grants of this chain that no waiter took. */
  readonly withdrawn: string[];
  /** Until when, on the monotonic clock, a rival could still believe in any of them. */
  untilMs: number;
  /** Whether no write of the chain was sent before the present one. */
  isFirst: boolean;
  loss: LossReason | undefined;
}

/**
 * What became of one hand-over: `withdrawn` if the waiter gave up meanwhile, `unanswered` if nobody
 * said for so long that its lease would be nearly over, `gone` if the record names somebody else.
 */
type HandOver = "handed over" | "withdrawn" | "unanswered" | "gone";

/**
 * Gives up a lease: to the next waiter of this process, or to everybody. The former lease has ended
 * before this is called, and is never revived. Answers why, if it turns out that the lease had been
 * lost before. It ends when an answer is known, or when the last lease that could have been made has
 * run out; it then throws `outcome-unknown`.
 */
export async function giveUpLease(
  context: ClientContext,
  ref: RecordRef,
  localQueue: HoldQueue,
  former: EndedLease,
): Promise<LossReason | undefined> {
  const chain: HandoffChain = {
    former,
    known: former.held,
    maybe: [],
    withdrawn: [],
    untilMs: context.nowMs() + former.leaseMs,
    isFirst: true,
    loss: undefined,
  };
  try {
    const outcome = await untilTold(context, ref, localQueue, chain);
    if (outcome === "handed over") return undefined;
  } catch (error) {
    // No lease that runs out would free it: it may name what lives on.
    former.life?.sweep(ref, holdersOf(chain), former.keepData);
    localQueue.next();
    // The waiter has left this place in a queue, and needs no answer: those behind it watch the place.
    if (ref.isEntry === true && isUnanswered(error)) return undefined;
    throw error;
  }
  if (localQueue.localHandoffs >= context.settings.maxLocalHandoffs && localQueue.hasWaiters) {
    // The bound is there for other processes: one that claimed again at once would leave them nothing.
    context.observations.standBack(ref.id, context.nowMs());
  }
  localQueue.localHandoffs = 0;
  localQueue.next();
  return chain.loss;
}

// Until the last write of the release is answered, or given up, another acquisition of this process must not take
// the record from the id that this write requires: the release would be refused, and be told as a loss.
async function untilTold(
  context: ClientContext,
  ref: RecordRef,
  localQueue: HoldQueue,
  chain: HandoffChain,
): Promise<HandOver | "freed"> {
  try {
    return await handOverInTurn(context, ref, localQueue, chain);
  } finally {
    context.abandon(chain.former.held.holder);
    for (const holder of chain.withdrawn) context.abandon(holder);
  }
}

// Refused at the first attempt of all, the record had been somebody else's before. Refused later, it
// may have been an earlier attempt that freed it, or passed it on (and others took it since).
function noteRefusal(chain: HandoffChain, found: Found, answer: WriteAnswer): void {
  if (!chain.isFirst || (answer.kind === "refused" && answer.isRepeated === true)) return;
  if (!isOwnDoing(chain, found)) chain.loss = lossIn(found, chain.former.held);
}

function isOwnDoing({ former }: HandoffChain, found: Found): boolean {
  return found.state === "free" && found.lastHolder === former.held.holder;
}

async function handOverInTurn(
  context: ClientContext,
  ref: RecordRef,
  localQueue: HoldQueue,
  chain: HandoffChain,
): Promise<HandOver | "freed"> {
  while (localQueue.localHandoffs < context.settings.maxLocalHandoffs) {
    const waiter = localQueue.shift();
    if (waiter === undefined) break;
    const outcome = await handOver(context, ref, localQueue, chain, waiter);
    if (waiter.isWaiting) localQueue.waitFirst(waiter);
    if (outcome === "handed over" || outcome === "gone") return outcome;
    if (outcome === "unanswered") break;
  }
  await free(context, ref, chain);
  return "freed";
}

/** Grants the lock to one waiter of this process, by one write that is repeated until answered. */
async function handOver(
  context: ClientContext,
  ref: RecordRef,
  localQueue: HoldQueue,
  chain: HandoffChain,
  waiter: LocalWaiter<HoldSettings, GrantResult>,
): Promise<HandOver> {
  const { settings } = waiter;
  const grant = context.grant(ref, {
    ...settings,
    // As if it were released and then claimed: what the release does not keep is not there to keep.
    existingData: chain.former.keepData ? settings.existingData : "replace",
    existingAttributes: chain.former.keepData ? settings.existingAttributes : "replace",
  });
  const write = context.format.handOver(ref, grant, holdersOf(chain));
  const start = instantOf(context.clock);
  const deadline = new Deadline(context.clock, start, actingMs(context, settings.leaseMs));
  chain.untilMs = Math.max(chain.untilMs, context.nowMs() + settings.leaseMs);
  while (waiter.isWaiting && deadline.remainingMs() > settings.leaseMs / 2) {
    const answer = await context.write(write, context.timeoutWithin(deadline.remainingMs()));
    if (answer.kind === "applied" || answer.kind === "refused") {
      const found = context.see(ref, answer.item, "strong");
      // A refusal that shows somebody else shows that none of this process's writes can land any more.
      // A refusal proves an own success only where an earlier send of the chain may have been applied.
      const mayBeOwn = mayBeApplied(answer) || !chain.isFirst;
      if (!mayBeOwn || found.state !== "held" || found.holder !== grant.holder) {
        noteRefusal(chain, found, answer);
        return "gone";
      }
      chain.known = { holder: grant.holder, fence: found.fence };
      chain.maybe = [];
      chain.isFirst = false;
      if (!waiter.isWaiting || deadline.remainingMs() <= 0) break;
      localQueue.localHandoffs += 1;
      waiter.offer({ record: found, start, settings });
      return "handed over";
    }
    if (answer.kind === "misconfigured") break;
    if (answer.kind === "unknown") chain.isFirst = false;
    await context.sleep(context.jittered(settings.minPollMs));
  }
  chain.withdrawn.push(grant.holder);
  if (chain.known.holder !== grant.holder) chain.maybe.push(grant.holder);
  return waiter.isWaiting ? "unanswered" : "withdrawn";
}

/** Frees the record, whichever holder of the chain it names; repeated until answered. */
async function free(context: ClientContext, ref: RecordRef, chain: HandoffChain): Promise<void> {
  let answer: WriteAnswer;
  do {
    const { keepData, lastData } = chain.former;
    answer = await freeOnce(context, ref, holdersOf(chain), keepData, lastData);
    if (answer.kind === "applied") return;
    if (answer.kind === "refused") {
      const found = context.format.read(answer.item);
      noteRefusal(chain, found, answer);
      if (lastData === undefined || chain.loss !== undefined || isOwnDoing(chain, found)) return;
      // An earlier attempt freed it, or never arrived and its lease ran out: only the first left the data.
      throw dataNotAcknowledged(ref);
    }
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind === "unknown") chain.isFirst = false;
    await context.sleep(context.jittered(RELEASE_RETRY_MS));
  } while (context.nowMs() < chain.untilMs);
  throw new HoldfastError(
    "outcome-unknown",
    `Nobody answered whether lock "${ref.name}" was released. ` +
      "It is free, or will be when its lease has run out; there is nothing to do.",
    { lockName: ref.name, cause: answer.cause },
  );
}

const RELEASE_RETRY_MS = 100;

function dataNotAcknowledged({ name }: RecordRef): HoldfastError {
  return new HoldfastError(
    "outcome-unknown",
    `The release of lock "${name}" was not acknowledged before the lock was granted again. Whether it left ` +
      "its data in the record is unknown. Read them with a later grant.",
    { lockName: name },
  );
}

/** One write that frees the record, or deletes the entry, if it names one of these holders. */
export async function freeOnce(
  context: ClientContext,
  ref: RecordRef,
  from: Holders,
  keepData: boolean,
  lastData?: unknown,
): Promise<WriteAnswer> {
  if (ref.isEntry === true) return removeEntry(context, ref, from);
  const answer = await context.write(
    context.freeing(ref, from, {
      keepData,
      lastData,
      lastHolder: from.known?.holder ?? from.maybe?.[0] ?? "",
    }),
    context.settings.requestTimeoutMs,
  );
  if (answer.kind === "applied" || answer.kind === "refused") {
    context.see(ref, answer.item, "strong");
    context.observations.freed(ref.id, context.nowMs());
  }
  return answer;
}

/** One deletion of an entry of a queue, if it names one of these holders. */
export function removeEntry(
  context: ClientContext,
  entry: RecordRef,
  from: Holders,
): Promise<WriteAnswer> {
  const { queue } = context.format;
  if (queue === undefined) throw new Error("A format without a queue has no entries.");
  // Whoever looks at an entry reads it anew.
  return context.write(queue.remove(entry, from), context.settings.requestTimeoutMs);
}

function isUnanswered(error: unknown): boolean {
  return isHoldfastError(error) && error.code === "outcome-unknown";
}

function holdersOf(chain: HandoffChain): Holders {
  return { known: chain.known, maybe: chain.maybe };
}
