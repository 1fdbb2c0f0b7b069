import { HoldfastError, isHoldfastError, type LossReason } from "../../errors.js";
import type { SignalLike } from "../../platform/abort.js";
import { instantOf } from "../../platform/clock.js";
import { causeOf, type NoAnswer, retry } from "../../platform/retry.js";
import { isJudged, type Misconfigured, type WriteAnswer } from "../../platform/table.js";
import { steady } from "../backoff.js";
import type { ClientContext } from "../context.js";
import type { LocalWaiter } from "../local-queue.js";
import { tellOfRefusal } from "../outage-watch.js";
import { QUEUE, requireCapability } from "../record/capability.js";
import type { FreeOptions, Held, Holders, RecordRef } from "../record/format.js";
import { hasQueue } from "../record/record.js";
import { GIVE_UP } from "../table-access.js";
import { phraseOf } from "../unavailable.js";
import { actingMs, Deadline, LEAST_PART_LEFT } from "./deadline.js";
import {
  accepted,
  begun,
  freed,
  freeRefused,
  type Handoff,
  handingOff,
  handOffAnswered,
  holdersOf,
  notAccepted,
  unacknowledged,
  withoutWaiter,
} from "./hand-off.js";
import type { GrantResult, HoldQueue, HoldSettings } from "./hold.js";
import type { KeepAlive } from "./keep-alive.js";
import { LeaseEnd } from "./lease-end.js";

/** A lease that has ended in this process, while the record in the table still names its holder. */
interface EndedLease {
  readonly held: Held;
  readonly leaseMs: number;
  readonly keepData: boolean;
  /** User data that the record keeps after the release. */
  readonly lastData?: unknown;
  /** The session that keeps the record alive, or to which the record moves; undefined if the lease had no session. */
  readonly life: Pick<KeepAlive<never>, "sweep"> | undefined;
  /** Whether the lock is for another caller or process, so that no waiter of this process comes before it. */
  readonly isForOthers: boolean;
  /**
   * The release calls this after each write that DynamoDB did not acknowledge, with the first waiter of this process, whom it
   * has told.
   */
  onNoAnswer(answer: NoAnswer, waiter: LocalWaiter<HoldSettings, GrantResult> | undefined): void;
}

/**
 * Gives up a lease: hands the lock off to the next waiter of this process, or frees the record. The lease has already
 * ended in this process, and no answer revives the lease. Returns the reason of an earlier loss, if an answer shows
 * that the holder had lost the lock before. Rejects as {@link releaseNotAcknowledged} says if DynamoDB acknowledges no
 * write until the lease, and the leases of all hand-offs that the release has tried, have expired.
 */
export function giveUpLease(
  context: ClientContext,
  ref: RecordRef,
  localQueue: HoldQueue,
  former: EndedLease,
): Promise<LossReason | undefined> {
  return new LeaseRelease(context, ref, localQueue, former).run();
}

/** Sends the requests and keeps the state of one release. */
class LeaseRelease {
  readonly #context: ClientContext;
  readonly #ref: RecordRef;
  readonly #localQueue: HoldQueue;
  readonly #former: EndedLease;
  #state: Handoff;

  constructor(context: ClientContext, ref: RecordRef, localQueue: HoldQueue, former: EndedLease) {
    this.#context = context;
    this.#ref = ref;
    this.#localQueue = localQueue;
    this.#former = former;
    this.#state = begun(former.held, context.nowMs() + former.leaseMs);
  }

  async run(): Promise<LossReason | undefined> {
    const ref = this.#ref;
    const context = this.#context;
    const localQueue = this.#localQueue;
    try {
      await this.#untilEnded();
    } catch (error) {
      // The session keeps this record alive, so the record never expires by itself. The session must free the record.
      this.#former.life?.sweep(ref, holdersOf(this.#state), this.#former.keepData);
      localQueue.next();
      // The record is a place in a queue. Its waiter has left, so an error helps no caller. The waiters behind watch
      // the place, and remove it once it expires.
      if (ref.isEntry === true && isNotAcknowledged(error)) return undefined;
      throw error;
    }
    if (this.#state.phase === "handed-off") return undefined;
    const isAtLimit = localQueue.localHandoffs >= context.settings.maxLocalHandoffs;
    if (localQueue.hasWaiters && (isAtLimit || this.#former.isForOthers)) {
      // The limit of local hand-offs lets other processes acquire the lock. If this process claimed the lock again at
      // once, the other processes would have no chance.
      context.observations.standBack(ref.id, context.nowMs());
    }
    localQueue.next();
    return this.#state.loss;
  }

  // No other acquisition of this process may take over from the former holder while a write of the release is
  // unacknowledged: DynamoDB would refuse the release, and the holder would report a loss.
  async #untilEnded(): Promise<void> {
    try {
      while (this.#state.phase === "handing-off") await this.#handOffToNext();
      if (this.#state.phase === "freeing") await this.#free();
    } finally {
      this.#context.abandon(this.#former.held.holder);
      for (const holder of this.#state.withdrawn) this.#context.abandon(holder);
    }
  }

  async #handOffToNext(): Promise<void> {
    const localQueue = this.#localQueue;
    const waiter = this.#mayHandOff ? localQueue.shift() : undefined;
    if (waiter === undefined) {
      this.#state = withoutWaiter(this.#state);
      return;
    }
    await this.#handOffTo(waiter, localQueue.takeTicket());
    if (waiter.isWaiting) localQueue.waitFirst(waiter);
  }

  // If the queue in the table has a waiter, DynamoDB refuses a hand-off without a ticket. The last observed record
  // usually shows whether the queue has a waiter.
  get #mayHandOff(): boolean {
    const { observations, settings } = this.#context;
    const localQueue = this.#localQueue;
    // Such as the caller that interrupted this holder.
    if (this.#former.isForOthers) return false;
    // If the place has expired, others may be first. The next waiter of this process finds that out and joins again.
    if (localQueue.place !== undefined) return localQueue.place.isHeld;
    const record = observations.known(this.#ref.id);
    const isQueued = record !== undefined && hasQueue(record);
    return !isQueued && localQueue.localHandoffs < settings.maxLocalHandoffs;
  }

  /** Grants the lock to one waiter. Retries the write until DynamoDB answers. */
  async #handOffTo(
    waiter: LocalWaiter<HoldSettings, GrantResult>,
    ticket: bigint | undefined,
  ): Promise<void> {
    const context = this.#context;
    const ref = this.#ref;
    const { settings } = waiter;
    const passage = ticket === undefined ? undefined : ({ kind: "ticket", ticket } as const);
    const start = instantOf(context.clock);
    const grant = context.grant(ref, { ...this.#grantOptions(settings), passage }, start);
    const write = context.format.lease.handOver(ref, grant, holdersOf(this.#state));
    const deadline = new Deadline(context.clock, start, actingMs(context, settings.leaseMs));
    this.#state = handingOff(this.#state, start.monotonicMs + settings.leaseMs);
    const send = () => context.writeWithin(write, () => deadline.remainingMs());
    const retried = await retry(context, send, {
      backoff: context.patient(steady(settings.retryMs)),
      isOver: () => !waiter.isWaiting || deadline.remainingMs() <= settings.leaseMs / 2,
      onMisconfigured: "end",
      onNoAnswer: (answer) => this.#noteNoAnswer(answer, waiter),
    });
    if (retried.kind === "answered") {
      const { answer } = retried;
      waiter.tell();
      const found = context.see(ref, answer, "strong");
      this.#state = handOffAnswered(this.#state, grant.holder, answer, found);
      if (this.#state.phase === "released") return;
      const isGranted = this.#state.phase === "granted" && found.state === "held";
      // As for a grant to a caller that has claimed. An end that is past by the `Date` of this very answer would give the
      // waiter a lost lease.
      const isValid =
        isGranted &&
        new LeaseEnd(context, found).limit(deadline, found).remainingMs() >
          settings.leaseMs * LEAST_PART_LEFT;
      if (isValid && waiter.isWaiting) {
        this.#state = accepted(this.#state);
        if (ticket === undefined) this.#localQueue.handedOver();
        waiter.offer({ record: found, start, settings, block: grant.block });
        return;
      }
    } else if (retried.last !== undefined) {
      // The release of a kept lease is that of the waiter's own call.
      const last = context.healing(retried.last);
      if (last.kind === "denied") tellOfRefusal(context, last);
    }
    this.#state = notAccepted(this.#state, grant.holder, waiter.isWaiting);
  }

  // A hand-off leaves the same data in the record as a release followed by a claim.
  #grantOptions(settings: HoldSettings): HoldSettings {
    if (this.#former.keepData) return settings;
    return { ...settings, existingData: "replace", existingAttributes: "replace" };
  }

  /**
   * Frees the record, on condition that it names the former holder or a holder of one of the release's hand-offs.
   * Retries the write until DynamoDB answers.
   */
  async #free(): Promise<void> {
    const context = this.#context;
    const { keepData, lastData } = this.#former;
    const served = this.#servedWithoutWaiter();
    const options = { keepData, lastData, served };
    // A hanging request must leave time for another one before the lease is over.
    const timeoutMs = context.timeoutWithin(this.#former.leaseMs);
    // The release has begun in its slice.
    let free = freeNow;
    // Credentials expire and are replaced, so a refused release is sent again, too.
    const send = async () => {
      const answer = await free(context, this.#ref, holdersOf(this.#state), options, timeoutMs);
      free = freeOnce;
      return context.healing(answer);
    };
    const retried = await retry(context, send, {
      backoff: context.patient(steady(RELEASE_RETRY_MS)),
      isOver: () => context.nowMs() >= this.#state.untilMs,
      onNoAnswer: (answer) => this.#noteNoAnswer(answer, this.#localQueue.first),
    });
    if (retried.kind !== "answered") {
      const isOnSession = this.#former.life !== undefined;
      throw releaseNotAcknowledged(this.#ref, retried.last, isOnSession);
    }
    const { answer } = retried;
    this.#localQueue.first?.tell();
    if (answer.kind === "applied") {
      this.#state = freed(this.#state);
      return;
    }
    const found = context.format.codec.read(answer.item, this.#ref);
    this.#state = freeRefused(this.#state, answer, found, lastData !== undefined);
    if (this.#state.phase === "data-unknown") throw dataNotAcknowledged(this.#ref);
  }

  // Returns the last ticket of this process's place, if all its waiters have given up. The release records the tickets
  // as served. Otherwise the next client would need a ticket, although the queue has no waiters.
  #servedWithoutWaiter(): bigint | undefined {
    const { hasWaiters, place } = this.#localQueue;
    if (hasWaiters || place === undefined) return undefined;
    this.#localQueue.leavePlace();
    return place.last;
  }

  #noteNoAnswer(
    answer: NoAnswer,
    waiter: LocalWaiter<HoldSettings, GrantResult> | undefined,
  ): void {
    this.#state = unacknowledged(this.#state, answer);
    if (answer.kind === "denied") tellOfRefusal(this.#context, answer);
    waiter?.tell(answer);
    this.#former.onNoAnswer(answer, waiter);
  }
}

/**
 * Returns the error of a release that DynamoDB did not acknowledge in time: `outcome-unknown`, or the code of the
 * refusal if DynamoDB refused the credentials of the last write. `isOnSession`: a session keeps the record alive, so no
 * lease expires while the session lives, and the client goes on sending the release. `within`: the time, for the message.
 */
export function releaseNotAcknowledged(
  ref: RecordRef,
  last: NoAnswer | Misconfigured | undefined,
  isOnSession: boolean,
  within = "",
): HoldfastError {
  const [what, name] =
    ref.permit === undefined ? ["lock", phraseOf(ref)] : ["permit", `a permit of ${phraseOf(ref)}`];
  const when = isOnSession
    ? "DynamoDB acknowledges a retry, or its session ends"
    : "its lease expires";
  const isDenied = last?.kind === "denied";
  return new HoldfastError(
    isDenied ? last.cause.code : "outcome-unknown",
    `DynamoDB did not acknowledge the release of ${name}${within}. The ${what} is free now, or when ${when}. ` +
      (isDenied ? last.cause.message : "No action is needed."),
    { lockName: ref.name, cause: causeOf(last) },
  );
}

/** The pause before a release is sent again, in milliseconds. */
export const RELEASE_RETRY_MS = 100;

function dataNotAcknowledged({ name }: RecordRef): HoldfastError {
  return new HoldfastError(
    "outcome-unknown",
    `DynamoDB did not acknowledge the release of lock "${name}" before the next grant of the lock. The record ` +
      "may lack the data of this release. Acquire the lock again, and check its data.",
    { lockName: name },
  );
}

type FreeingOptions = Pick<
  FreeOptions,
  "keepData" | "keepRecord" | "attributes" | "lastData" | "served"
>;

/**
 * Frees a record, or deletes a queue entry, with one write. The write requires that the item still names one of the
 * holders in `from`. Of thousands of writes in one turn of the event loop, most come later.
 */
export function freeOnce(
  context: ClientContext,
  ref: RecordRef,
  from: Holders,
  options: FreeingOptions,
  timeoutMs?: number,
  signal?: SignalLike,
): Promise<WriteAnswer> {
  const slice = context.releases(false);
  const free = () => freeNow(context, ref, from, options, timeoutMs, signal);
  return slice === undefined ? free() : slice.then(free);
}

/** As {@link freeOnce}, in this turn of the event loop. */
async function freeNow(
  context: ClientContext,
  ref: RecordRef,
  from: Holders,
  options: FreeingOptions,
  timeoutMs = context.settings.requestTimeoutMs,
  signal?: SignalLike,
): Promise<WriteAnswer> {
  const isEntry = ref.isEntry === true;
  const answer = isEntry
    ? await removeEntry(context, ref, from, signal, timeoutMs)
    : await context.write(
        context.freeing(ref, from, {
          ...options,
          lastHolder: from.known?.holder ?? from.maybe?.[0] ?? "",
        }),
        timeoutMs,
        signal,
        GIVE_UP,
      );
  if (isJudged(answer)) {
    if (!isEntry) {
      context.see(ref, answer, "strong");
      context.observations.freed(ref.id, context.nowMs());
    }
    context.rings?.freed(ref);
  }
  return answer;
}

/** Deletes a queue entry with one request, which requires that the entry still names one of the holders in `from`. */
export function removeEntry(
  context: ClientContext,
  entry: RecordRef,
  from: Holders,
  signal?: SignalLike,
  timeoutMs = context.settings.requestTimeoutMs,
): Promise<WriteAnswer> {
  const queue = requireCapability(context.format, QUEUE);
  // The client stores no observation of the entry, because each waiter reads the entries again.
  return context.write(queue.remove(entry, from), timeoutMs, signal, GIVE_UP);
}

function isNotAcknowledged(error: unknown): boolean {
  return isHoldfastError(error) && error.code !== "misconfigured";
}
