import type { HoldfastError, LossReason } from "../../errors.js";
import { Exclusive } from "../../internal/exclusive.js";
import { type Instant, instantOf } from "../../platform/clock.js";
import { AGAIN, type Backoff, causeOf, type NoAnswer } from "../../platform/retry.js";
import { isJudged, type Misconfigured, type ReadAnswer, type Write } from "../../platform/table.js";
import { retryPauseMs, spread } from "../backoff.js";
import type { ClientContext, Shown } from "../context.js";
import { emitLongHold, emitLoss, emitRelease, emitRenewal } from "../events.js";
import type { LocalQueue } from "../local-queue.js";
import type { FenceBlock, Held, NumberedData, RecordRef, Renewal } from "../record/format.js";
import type { ForcedRelease, HeldRecord, Version } from "../record/record.js";
import type { Kept } from "../scheduler.js";
import type { Entering } from "../table-access.js";
import { actingMs, Deadline } from "./deadline.js";
import {
  EffectiveDeadline,
  Handles,
  type KeptGrant,
  type KeptSettings,
  renewOrMove,
} from "./keep-alive.js";
import { LeaseEnd } from "./lease-end.js";
import { LongestHold } from "./longest-hold.js";
import { forcedIn, lossError, lossIn, RESERVED_AFTER_LOSS, SWEEP_AFTER_LEASES } from "./loss.js";
import { LossSignal } from "./loss-signal.js";
import { type HoldAnswer, type HoldWrite, type RenewalAnswer, RenewalSchedule } from "./renewal.js";
import { Requested } from "./requested.js";
import { UserData } from "./user-data.js";

/** The options and the optional session of a lease. */
export type HoldSettings = KeptSettings<Hold>;
/** The acquisitions of this process for one record. */
export type HoldQueue = LocalQueue<HoldSettings, GrantResult>;

/** A grant: the record, the instant before the first send, and the number beside the record. */
export interface GrantResult {
  readonly record: HeldRecord;
  readonly start: Instant;
  readonly settings: HoldSettings;
  readonly number?: bigint;
  /** The fences that the grant has reserved. */
  readonly block?: FenceBlock | undefined;
  /** The hold whose grant goes on in this one: the grant is kept between its uses. */
  readonly former?: Hold | undefined;
  /** Whether the grant waits for its next use. */
  readonly isIdle?: boolean;
}

/**
 * The holds without a timer whose signal is in use. A signal composed of it refers to it weakly, and so would never abort once
 * the handle and the client have gone.
 */
const watched = new Set<Hold>();

/**
 * The state of a grant in the holder's process, until the deadline, a loss or a release. Writes of a hold never
 * overlap (R7), and an ended hold stays ended (R2). A grant that is kept has one hold after another: they share the
 * deadline and the writes, and nothing else.
 */
export class Hold implements Kept {
  readonly context: ClientContext;
  readonly ref: RecordRef;
  readonly localQueue: HoldQueue;
  readonly held: Held;
  readonly settings: HoldSettings;
  /** Whether the hold has no deadline timer. */
  readonly isManual: boolean;
  /** Aborts when the lease is lost. */
  readonly lossSignal = new LossSignal(() => this.check());
  /** Aborts when the holder must stop: when the lease is lost, or earlier. */
  readonly signal = new LossSignal(() => this.check());
  /** Runs the requests for this record, never two at the same time. */
  readonly requests: Exclusive;
  /** The uses of the grant, if the grant is kept between them. */
  readonly kept: KeptGrant<Hold> | undefined;
  /** Whether the grant waits for its next use, without a holder. */
  readonly isIdle: boolean;
  readonly handles = new Handles();
  readonly userData: UserData;
  /** What others have asked of this holder. */
  readonly requested = new Requested(this);
  readonly living: EffectiveDeadline<Hold>;
  #leaseMs: number;
  #version: Version;
  readonly #leaseEnd: LeaseEnd;
  #isOver = false;
  #loss: HoldfastError | undefined;
  #lastTrouble: unknown;
  readonly times: RenewalSchedule;
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  #isRenewing = false;
  readonly grantedAtMs: number;
  readonly #longest: LongestHold | undefined;
  /** An end that no renewal moves, neither of the lease nor of its session. */
  #last: Deadline | undefined;

  constructor(
    context: ClientContext,
    ref: RecordRef,
    localQueue: HoldQueue,
    beginning: GrantResult,
  ) {
    const { record, start, settings, block, former, isIdle = false } = beginning;
    this.context = context;
    this.ref = ref;
    this.localQueue = localQueue;
    this.kept = former?.kept ?? (block && settings.keep?.begin(record, block));
    this.isIdle = isIdle;
    const number = beginning.number ?? (isIdle ? undefined : this.kept?.next());
    this.held = { holder: record.holder, fence: record.fence, number };
    this.requests = former?.requests ?? new Exclusive();
    this.settings = settings;
    this.isManual = settings.renewMs === "manual";
    this.#leaseMs = former?.leaseMs ?? settings.leaseMs;
    this.#version = former === undefined ? record.version : former.#version;
    this.#leaseEnd = former === undefined ? new LeaseEnd(context, record) : former.#leaseEnd;
    this.userData = new UserData(record);
    this.living = former?.living ?? this.#livingFrom(start, record);
    this.times = former?.times ?? new RenewalSchedule(settings.renewMs, context.random, start);
    this.grantedAtMs = context.nowMs();
    const { maxHoldMs } = settings;
    // A place in a queue has the settings of its waiter.
    if (maxHoldMs !== undefined && ref.isEntry !== true && !isIdle) {
      this.#longest = new LongestHold(this, maxHoldMs);
      this.#last = this.#longest.deadline;
    }
    context.holds.add(this);
    settings.keptAliveBy?.begun(this);
    context.rings?.began(this);
    localQueue.occupy(this);
    if (!this.isManual) context.scheduler.visit(this, this.#nextVisitMs());
    if (this.kept !== undefined) this.kept.latest = this;
    former?.passTo(this);
  }

  #livingFrom(start: Instant, record: HeldRecord): EffectiveDeadline<Hold> {
    const deadline = this.deadlineFrom(start, this.#leaseMs);
    return new EffectiveDeadline<Hold>(this.#leaseEnd.limit(deadline, record));
  }

  /** Gives one of the two signals to the holder. */
  give(signal: LossSignal): AbortSignal {
    if (this.isManual && !this.#isOver) watched.add(this);
    return signal.give();
  }

  /** Ends the hold, whose grant goes on in `heir`. */
  passTo(heir: Hold): void {
    // Such as by `close()`, since the waiter of this process accepted the grant.
    if (this.#isOver) {
      heir.end(this.#loss?.reason ?? "closed");
      return;
    }
    heir.#isRenewing = this.#isRenewing;
    heir.#renewedAtMs = this.#renewedAtMs;
    this.#finish(undefined);
  }

  /** The hold that the grant has now: a request outlives the use that sent it. */
  get latest(): Hold {
    return this.kept?.latest ?? this;
  }

  /** Whether a renewal of the scheduler is in flight. */
  get isRenewing(): boolean {
    return this.#isRenewing;
  }

  yields(): Promise<void> | undefined {
    return this.kept?.yields();
  }

  get leaseMs(): number {
    return this.#leaseMs;
  }

  get deadline(): Deadline {
    const { deadline } = this.living;
    return this.#last === undefined ? deadline : deadline.earlier(this.#last);
  }

  remainingMs(): number {
    return this.deadline.remainingMs();
  }

  deadlineFrom(start: Instant, leaseMs: number): Deadline {
    return new Deadline(this.context.clock, start, actingMs(this.context, leaseMs));
  }

  /** Whether the lease is held now, by the clocks. The first check after the deadline ends the hold. */
  get isHeld(): boolean {
    this.check();
    return !this.#isOver;
  }

  /** The loss of the lease; undefined if it is held or released. */
  get loss(): HoldfastError | undefined {
    this.check();
    return this.#loss;
  }

  /**
   * Returns the milliseconds left, or 0 after the end. The first check after the deadline ends the hold. `now`: an instant
   * that this synchronous step has read.
   */
  check(now?: Instant): number {
    // To read the clocks takes microseconds, and an ended hold stays ended.
    if (this.#isOver) return 0;
    const at = now ?? instantOf(this.context.clock);
    // A check of one lease also checks the session, and so ends all leases of an expired session.
    this.living.life?.check();
    const leftMs = this.deadline.remainingMs(at);
    if (leftMs <= 0) this.end(this.#whyOver, undefined, at);
    return this.#isOver ? 0 : leftMs;
  }

  get #whyOver(): LossReason {
    if (this.#longest !== undefined && this.#longest.deadline.remainingMs() <= 0)
      return "held-too-long";
    return this.requested.isInterrupted ? "interrupted" : "expired";
  }

  /** Publishes that the hold is about to be the longest allowed. */
  nearsEnd(leftMs: number): void {
    emitLongHold(this, this.context.nowMs() - this.grantedAtMs, leftMs);
  }

  /**
   * Ends the hold without the holder's request, once, and reports the loss (R8). `now`: an instant that this synchronous
   * step has read.
   */
  end(reason: LossReason, forced?: ForcedRelease, now?: Instant): void {
    if (this.#isOver) return;
    const visitMs = this.#nextVisitMs();
    const at = now ?? instantOf(this.context.clock);
    const timing = this.times.lossTiming(at, this.deadline.remainingMs(at), visitMs);
    this.#loss = lossError(this.ref, reason, this.#lastTrouble, { forced, timing });
    this.#finish(reason);
    // Nobody uses a kept lease, so that its end is no loss.
    if (!this.isIdle) emitLoss(this, reason, this.context.nowMs() - this.grantedAtMs);
    this.#abort(this.#loss);
    this.localQueue.next();
    const leases = SWEEP_AFTER_LEASES[reason];
    if (leases === undefined) return;
    const from = { known: this.held };
    this.living.life?.sweep(this.ref, from, this.settings.keepData, leases * this.leaseMs);
  }

  /** Ends the hold after the garbage collection of its last handle, unless the loss signal may be in use. */
  forget(): void {
    const isWatched = this.signal.isGiven || this.lossSignal.isGiven;
    if (!this.handles.remove() || isWatched || !this.isHeld) return;
    this.end("forgotten");
    this.context.forgot(this, this.context.nowMs() + this.leaseMs);
    if (this.#loss !== undefined) this.context.report(this.#loss);
  }

  /** Reports, once, an earlier loss from the answer to the release. */
  lostBeforeRelease(reason: LossReason, forced?: ForcedRelease): void {
    this.#loss ??= lossError(this.ref, reason, undefined, { forced });
    this.#abort(this.#loss);
  }

  #abort(loss: HoldfastError): void {
    this.lossSignal.abort(loss);
    this.signal.abort(loss);
  }

  /**
   * Tells the holder to stop. The lease ends at its deadline, and on a session, which others keep alive, a whole lease from
   * now: a holder that ignores its signal must not keep the lock for ever.
   */
  interrupted(reason: HoldfastError): void {
    const end = this.deadlineFrom(instantOf(this.context.clock), this.#leaseMs);
    this.#last = this.#last?.earlier(end) ?? end;
    this.signal.abort(reason);
    if (!this.isManual) this.context.scheduler.visit(this, this.#nextVisitMs());
  }

  /** Ends the hold at the holder's request. Returns false if the hold had ended already. */
  beginRelease(): boolean {
    if (!this.isHeld) return false;
    this.#finish(undefined);
    if (!this.isIdle) emitRelease(this, this.context.nowMs() - this.grantedAtMs);
    return true;
  }

  #finish(reason: LossReason | undefined): void {
    this.#isOver = true;
    watched.delete(this);
    if (reason !== undefined && !RESERVED_AFTER_LOSS.includes(reason))
      this.context.abandon(this.held.holder);
    this.context.holds.delete(this);
    if (this.latest === this) this.kept?.ended();
    this.#longest?.stop();
    this.context.scheduler.forget(this);
    this.settings.keptAliveBy?.ended(this);
    this.living.life?.ended(this);
  }

  /** Sends a due renewal or move. Also ends the hold at the deadline. The scheduler calls this. */
  tend(): number | undefined {
    if (!this.isHeld) return undefined;
    const { isInterrupted } = this.requested;
    if (this.living.isMoved && !isInterrupted) return undefined;
    if (!this.#isRenewing && !isInterrupted && this.context.nowMs() >= this.times.nextMs) {
      this.#isRenewing = true;
      this.context.inBackground(async () => {
        await renewOrMove<Hold>(this).finally(() => {
          this.latest.#isRenewing = false;
        });
        const { latest } = this;
        if (!latest.#isOver && !latest.living.isMoved) {
          this.context.scheduler.visit(latest, latest.#nextVisitMs());
        }
      });
    }
    return this.#nextVisitMs();
  }

  // While a renewal is in flight, only the deadline can be due.
  #nextVisitMs(): number {
    const deadlineMs = this.deadline.atMonotonicMs;
    return this.#isRenewing || this.requested.isInterrupted
      ? deadlineMs
      : Math.min(deadlineMs, this.times.nextMs);
  }

  /**
   * Sends one plain renewal. DynamoDB may apply the write twice: a renewal only shows a live holder (R5). Calls
   * `onNoAnswer` if DynamoDB did not serve the renewal.
   */
  renewOnce(onNoAnswer?: (answer: NoAnswer | Misconfigured) => void): Promise<RenewalAnswer> {
    const askedMs = this.context.nowMs();
    return this.requests.run(async () => {
      const hold = this.latest;
      // DynamoDB acknowledged another renewal or the move before this renewal's turn, or an answer showed an interruption.
      if (hold.#renewedAtMs > askedMs || hold.living.isMoved || hold.requested.isInterrupted) {
        if (!hold.isHeld) return { kind: "lost" };
        return hold.living.isMoved ? AGAIN : { kind: "held" };
      }
      let start = instantOf(hold.context.clock);
      const lateMs = Math.max(0, start.monotonicMs - hold.times.nextMs);
      let renewal = hold.renewal(hold.leaseMs, undefined, start);
      const compose = (): Write => hold.context.format.lease.renew(hold.ref, hold.held, renewal);
      const answer = await hold.send({
        write: compose(),
        again: () => {
          // Nothing was sent yet, so the lease counts from now.
          start = instantOf(hold.context.clock);
          renewal = hold.renewal(hold.leaseMs, undefined, start);
          return compose();
        },
        isIn: (record) => record.mark === renewal.mark,
        now: start,
      });
      const { latest } = hold;
      if (answer.kind === "applied") {
        latest.renewed(start, hold.leaseMs, answer.record);
        emitRenewal(latest, true, lateMs, start);
        return { kind: "renewed" };
      }
      if (answer.kind === "lost") return answer;
      if ("record" in answer) {
        hold.#leaseEnd.learn(answer.record);
        // An earlier renewal has changed the version. Texts have no order, so the next condition must name the new one.
        if (typeof answer.record.version === "string") latest.learnVersion(answer.record);
      } else onNoAnswer?.(answer);
      // The holder also pauses after a refusal: a record restored from a copy refuses every renewal of its grant.
      hold.times.putOff(hold.context.nowMs() + hold.backoff(hold.context.random.fraction()));
      emitRenewal(latest, false, lateMs, start);
      latest.settings.onRenewal?.(undefined);
      // An operator can correct the configuration before the deadline, so only the deadline decides.
      return AGAIN;
    });
  }

  /** Notes the version from a refusal. */
  learnVersion({ version }: HeldRecord): void {
    this.#version = version;
  }

  /** Notes an acknowledged renewal that was sent at `start`. Only such a renewal moves the deadline. */
  renewed(start: Instant, askedMs: number, record: HeldRecord): void {
    // A change of length that was given up may have been applied, and waiters watch for the length in the record. Where
    // versions are texts, each renewal sets its whole length, and the record may have none.
    const leaseMs =
      typeof record.version === "string" ? askedMs : Math.min(askedMs, record.leaseMs);
    this.#leaseMs = leaseMs;
    this.#version = record.version;
    const end = this.#leaseEnd.renewed(this.deadlineFrom(start, leaseMs), record, leaseMs);
    this.living.renewed(end.deadline);
    this.#lastTrouble = undefined;
    this.times.renewed(start);
    if (end.isTooEarly) this.times.putOff(0);
    this.#renewedAtMs = this.context.nowMs();
    this.settings.onRenewal?.(record);
  }

  /** Notes the acknowledged move, or a grant on the session: from now on the client renews only the session. */
  moved({ version }: Pick<HeldRecord, "version"> = { version: this.#version }): void {
    this.living.moved();
    this.#version = version;
    this.#leaseMs = this.living.life?.leaseMs ?? this.#leaseMs;
    // The answer to the move may have shown an interruption: the lease then ends before its session does.
    if (this.requested.isInterrupted) this.context.scheduler.visit(this, this.#nextVisitMs());
    else this.context.scheduler.forget(this);
  }

  /** The values of a renewal that DynamoDB may apply late or twice. */
  renewal(leaseMs: number, data?: NumberedData, now?: Instant): Renewal {
    const renewal = this.exactRenewal(leaseMs, data, now);
    return { ...renewal, endMs: this.#leaseEnd.endMs };
  }

  /** The values of a renewal on the exact version, which may set an earlier end: DynamoDB applies it once or never. */
  exactRenewal(leaseMs: number, data?: NumberedData, now?: Instant): Renewal {
    const renewal = { ...this.context.renewal(this.#version, leaseMs, now), data };
    // The record may have this end although no answer has said so, and a plain renewal must not set an earlier one.
    this.#leaseEnd.learn(renewal);
    return renewal;
  }

  /** Sends one write under the hold. The item of the answer decides whether the lease is lost. */
  async send({ write, again, isIn, now }: HoldWrite): Promise<HoldAnswer> {
    const { context } = this;
    const sent = now ?? instantOf(context.clock);
    // This write may have waited for a turn until the lease ended.
    const leftMs = this.latest.check(sent);
    if (leftMs <= 0) return { kind: "lost" };
    const timeoutMs = context.timeoutWithin(leftMs);
    const answer = await context.write(write, timeoutMs, undefined, this.#entering(again, sent));
    // The use may have ended, and the grant been kept, while the request was in flight.
    const { latest } = this;
    if (!isJudged(answer)) {
      if (!latest.isHeld) return { kind: "lost" };
      latest.#lastTrouble = causeOf(answer);
      if (answer.kind === "unknown") context.reportBusyConnections(this.ref.name);
      return answer;
    }
    const record = latest.#read(answer);
    // An answer after the deadline revives no lease.
    if (record === "lost" || !latest.isHeld) return { kind: "lost" };
    return { kind: answer.kind === "applied" || isIn(record) ? "applied" : "mine", record };
  }

  #read(answer: Shown): HeldRecord | "lost" {
    const found = this.context.see(this.ref, answer, "strong");
    const reason = lossIn(found, this.held);
    if (reason !== undefined) this.end(reason, forcedIn(found, this.held));
    else this.hear(found as HeldRecord);
    return reason === undefined ? (found as HeldRecord) : "lost";
  }

  /** Notes the requests to this holder in its record. */
  hear(record: HeldRecord): void {
    if (record.holder === this.held.holder) this.requested.see(record);
  }

  // After a wait for its turn, a request has the time that is then left of the lease. An ended hold sends nothing.
  #entering(again?: () => Write, sent?: Instant): Entering {
    const afterWait = () => {
      const leftMs = this.latest.check();
      if (leftMs <= 0) return undefined;
      return { timeoutMs: this.context.timeoutWithin(leftMs), write: again?.() };
    };
    return { priority: "keep", afterWait, sent };
  }

  /** Reads the lease's own record: another client may have written a request for this holder. */
  async look(): Promise<ReadAnswer> {
    const timeoutMs = this.context.timeoutWithin(this.remainingMs());
    const read = { key: this.ref.key, consistent: true };
    const answer = await this.context.read(read, timeoutMs, undefined, this.#entering());
    const { latest } = this;
    if (answer.kind === "found" && latest.isHeld) latest.#read(answer);
    return answer;
  }

  /** The pause before the retry of an unanswered request. */
  readonly backoff: Backoff = (fraction) => {
    const { clock } = this.context;
    const leftMs = this.deadline.remainingMs();
    return spread(retryPauseMs(this.leaseMs, leftMs, clock, this.context.throttledBy()), fraction);
  };
}
