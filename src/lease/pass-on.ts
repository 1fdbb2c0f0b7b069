import { HoldfastError, type LossReason } from "../errors.js";
import { instantOf } from "../platform/clock.js";
import { mayBeApplied, type WriteAnswer } from "../platform/table.js";
import { Deadline } from "./deadline.js";
import { holdMs } from "./decide.js";
import type { Held, Holders, RecordRef } from "./format.js";
import type { Kernel } from "./kernel.js";
import type { Life } from "./life.js";
import type { Line, Waiter } from "./line.js";
import { lossIn } from "./loss.js";
import type { Found } from "./record.js";

/** A lease that has ended in this process, and is still in the table. */
export interface Former {
  readonly held: Held;
  readonly leaseMs: number;
  readonly keepData: boolean;
  /** What its record may live by. */
  readonly life: Life | undefined;
}

/** Which holders of one chain of hand-overs the record may name, as far as answers told. */
interface Chain {
  readonly former: Former;
  known: Held;
  maybe: string[];
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
export async function passOn(
  kernel: Kernel,
  ref: RecordRef,
  line: Line,
  former: Former,
): Promise<LossReason | undefined> {
  kernel.abandon(former.held.holder);
  const chain: Chain = {
    former,
    known: former.held,
    maybe: [],
    untilMs: kernel.nowMs() + former.leaseMs,
    isFirst: true,
    loss: undefined,
  };
  try {
    const outcome = await handOverInTurn(kernel, ref, line, chain);
    if (outcome === "handed over") return undefined;
  } catch (error) {
    // No lease that runs out would free it: it may name what lives on.
    former.life?.sweep(ref, holdersOf(chain), former.keepData);
    line.next();
    throw error;
  }
  if (line.handOvers >= kernel.settings.handOverLimit && line.hasWaiters) {
    // The bound is there for other processes: one that claimed again at once would leave them nothing.
    kernel.observations.standBack(ref.id, kernel.nowMs());
  }
  line.handOvers = 0;
  line.next();
  return chain.loss;
}

// Refused at the first attempt of all, the record had been somebody else's before. Refused later, it
// may have been an earlier attempt that freed it, or passed it on (and others took it since).
function noteRefusal(chain: Chain, found: Found, answer: WriteAnswer): void {
  if (!chain.isFirst || (answer.kind === "refused" && answer.isRepeated === true)) return;
  const ownDoing = found.state === "free" && found.lastHolder === chain.former.held.holder;
  if (!ownDoing) chain.loss = lossIn(found, chain.former.held);
}

async function handOverInTurn(
  kernel: Kernel,
  ref: RecordRef,
  line: Line,
  chain: Chain,
): Promise<HandOver | "freed"> {
  while (line.handOvers < kernel.settings.handOverLimit) {
    const waiter = line.shift();
    if (waiter === undefined) break;
    const outcome = await handOver(kernel, ref, line, chain, waiter);
    if (waiter.isWaiting) line.waitFirst(waiter);
    if (outcome === "handed over" || outcome === "gone") return outcome;
    if (outcome === "unanswered") break;
  }
  await free(kernel, ref, chain);
  return "freed";
}

/** Grants the lock to one waiter of this process, by one write that is repeated until answered. */
async function handOver(
  kernel: Kernel,
  ref: RecordRef,
  line: Line,
  chain: Chain,
  waiter: Waiter,
): Promise<HandOver> {
  const { settings } = waiter;
  const grant = kernel.grant(ref, {
    ...settings,
    // As if it were released and then claimed: what the release does not keep is not there to keep.
    existingData: chain.former.keepData ? settings.existingData : "replace",
    existingAttributes: chain.former.keepData ? settings.existingAttributes : "replace",
  });
  const write = kernel.format.handOver(ref, grant, holdersOf(chain));
  const start = instantOf(kernel.clock);
  const deadline = new Deadline(
    kernel.clock,
    start,
    holdMs(settings.leaseMs, kernel.settings.driftBound),
  );
  chain.untilMs = Math.max(chain.untilMs, kernel.nowMs() + settings.leaseMs);
  while (waiter.isWaiting && deadline.remainingMs() > settings.leaseMs / 2) {
    const answer = await kernel.write(write, kernel.timeoutWithin(deadline.remainingMs()));
    if (answer.kind === "applied" || answer.kind === "refused") {
      const found = kernel.see(ref, answer.item, "strong");
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
      line.handOvers += 1;
      waiter.offer({ record: found, start, settings });
      return "handed over";
    }
    if (answer.kind === "misconfigured") break;
    if (answer.kind === "unknown") chain.isFirst = false;
    await kernel.sleep(kernel.jittered(settings.fastestPollMs));
  }
  kernel.abandon(grant.holder);
  if (chain.known.holder !== grant.holder) chain.maybe.push(grant.holder);
  return waiter.isWaiting ? "unanswered" : "withdrawn";
}

/** Frees the record, whichever holder of the chain it names; repeated until answered. */
async function free(kernel: Kernel, ref: RecordRef, chain: Chain): Promise<void> {
  let answer: WriteAnswer;
  do {
    answer = await freeOnce(kernel, ref, holdersOf(chain), chain.former.keepData);
    if (answer.kind === "applied") return;
    if (answer.kind === "refused") {
      return noteRefusal(chain, kernel.format.read(answer.item), answer);
    }
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind === "unknown") chain.isFirst = false;
    await kernel.sleep(kernel.jittered(RELEASE_RETRY_MS));
  } while (kernel.nowMs() < chain.untilMs);
  // A place in a queue is gone then, or dies: that is for those behind it, and no news for anybody else.
  if (ref.isEntry === true) return;
  throw new HoldfastError(
    "outcome-unknown",
    `Nobody answered whether lock "${ref.name}" was released. ` +
      "It is free, or will be when its lease has run out; there is nothing to do.",
    { lockName: ref.name, cause: answer.cause },
  );
}

const RELEASE_RETRY_MS = 100;

/** One write that frees the record, or deletes the entry, if it names one of these holders. */
export async function freeOnce(
  kernel: Kernel,
  ref: RecordRef,
  from: Holders,
  keepData: boolean,
): Promise<WriteAnswer> {
  if (ref.isEntry === true) return removeEntry(kernel, ref, from);
  const answer = await kernel.write(
    kernel.freeing(ref, from, {
      keepData,
      lastHolder: from.known?.holder ?? from.maybe?.[0] ?? "",
    }),
    kernel.settings.requestTimeoutMs,
  );
  if (answer.kind === "applied" || answer.kind === "refused") {
    kernel.see(ref, answer.item, "strong");
    kernel.observations.freed(ref.id, kernel.nowMs());
  }
  return answer;
}

/** One deletion of an entry of a queue, if it names one of these holders. */
export function removeEntry(kernel: Kernel, entry: RecordRef, from: Holders): Promise<WriteAnswer> {
  const { queue } = kernel.format;
  if (queue === undefined) throw new Error("A format without a queue has no entries.");
  // Whoever looks at an entry reads it anew.
  return kernel.write(queue.remove(entry, from), kernel.settings.requestTimeoutMs);
}

function holdersOf(chain: Chain): Holders {
  return { known: chain.known, maybe: chain.maybe };
}
