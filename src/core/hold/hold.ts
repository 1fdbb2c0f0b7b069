import type { HoldfastError, LossReason } from "../../errors.js";
import { Exclusive } from "../../internal/exclusive.js";
import { type Instant, instantOf } from "../../platform/clock.js";
import type { Item, WriteAnswer } from "../../platform/table.js";
import { retryPauseMs } from "../backoff.js";
import type { ClientContext } from "../context.js";
import { emitLoss, emitRelease, emitRenewal } from "../events.js";
import type { LocalQueue } from "../local-queue.js";
import type { Held, NumberedData, RecordRef, Renewal } from "../record/format.js";
import type { ForcedRelease, HeldRecord, Version } from "../record/record.js";
import type { Kept } from "../scheduler.js";
import { actingMs, Deadline } from "./deadline.js";
import { EffectiveDeadline, type KeptSettings } from "./keep-alive.js";
import { forcedIn, lossError, lossIn, RESERVED_AFTER_LOSS, SWEEP_AFTER_LEASES } from "./loss.js";
import { LossSignal } from "./loss-signal.js";
import { RenewalSchedule } from "./renewal-schedule.js";
import type { HoldAnswer, HoldWrite, RenewalAnswer } from "./write-answers.js";

/** The options of a lease, and what keeps it alive. */
export type HoldSettings = KeptSettings<Hold>;
/** The acquisitions of this process that wait for one record. */
export type HoldQueue = LocalQueue<HoldSettings, GrantResult>;

/** How a hold begins: what the grant's answer showed, the instant before its first send, and its number, if any. */
export interface GrantResult {
  readonly record: HeldRecord;
  readonly start: Instant;
  readonly settings: HoldSettings;
  readonly number?: bigint;
}

/**
 * The state of one grant in the process that has it: held, until its deadline, a loss, or a release.
 * Its writes never overlap (R7), and whatever ended it stays ended (R2).
 */
export class Hold implements Kept {
  readonly context: ClientContext;
  readonly ref: RecordRef;
  readonly localQueue: HoldQueue;
  readonly held: Held;
  readonly settings: HoldSettings;
  readonly lossSignal = new LossSignal(() => this.check());
  /** Requests about the record, one at a time. */
  readonly requests = new Exclusive();
  /** Writes of user data, one at a time, in the order in which the caller asked for them. */
  readonly dataWrites = new Exclusive();
  /** How many handles share the hold; it is released with the last of them. */
  sharers = 1;
  leaseMs: number;
  version: Version;
  data: unknown;
  /** What else the record carried for its users at the grant. */
  readonly attributes: Item | undefined;
  readonly living: EffectiveDeadline<Hold>;
  dataSeq: number;
  #isOver = false;
  #loss: HoldfastError | undefined;
  #lastTrouble: unknown;
  readonly #times: RenewalSchedule;
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  #isRenewing = false;
  readonly #grantedAtMs: number;

  constructor(
    context: ClientContext,
    ref: RecordRef,
    localQueue: HoldQueue,
    beginning: GrantResult,
  ) {
    const { record, start, settings } = beginning;
    this.context = context;
    this.ref = ref;
    this.localQueue = localQueue;
    this.held = { holder: record.holder, fence: record.fence, number: beginning.number };
    this.settings = settings;
    this.leaseMs = settings.leaseMs;
    this.version = record.version;
    this.data = record.data;
    this.attributes = record.attributes;
    this.dataSeq = record.dataSeq;
    this.living = new EffectiveDeadline<Hold>(this.deadlineFrom(start, settings.leaseMs));
    this.#times = new RenewalSchedule(settings.renewMs, context.random, start);
    this.#grantedAtMs = context.nowMs();
    context.holds.add(this);
    settings.keptAliveBy?.begun(this);
    localQueue.occupy(this);
    if (settings.renewMs !== "manual") context.scheduler.visit(this, this.#nextVisitMs());
  }

  /** Whether nothing but a question notices its deadline. */
  get isManual(): boolean {
    return this.settings.renewMs === "manual";
  }

  get deadline(): Deadline {
    return this.living.deadline;
  }

  remainingMs(): number {
    return this.deadline.remainingMs();
  }

  deadlineFrom(start: Instant, leaseMs: number): Deadline {
    return new Deadline(this.context.clock, start, actingMs(this.context, leaseMs));
  }

  /** Whether the lease is held now, by the clocks. The first question after the deadline ends it. */
  get isHeld(): boolean {
    this.check();
    return !this.#isOver;
  }

  /** Why the lease was lost; undefined while it is held, and after its own release. */
  get loss(): HoldfastError | undefined {
    this.check();
    return this.#loss;
  }

  /** How long it is held yet, in milliseconds; 0 once it is over, which the first question notices. */
  check(): number {
    // Whoever asks any of the leases that live by one thing notices the end of them all.
    this.living.life?.check();
    const leftMs = this.deadline.remainingMs();
    if (leftMs <= 0) this.end("expired");
    return this.#isOver ? 0 : leftMs;
  }

  /** Ends the hold against its holder's will, once, and tells (R8). */
  end(reason: LossReason, forced?: ForcedRelease): void {
    if (this.#isOver) return;
    this.#loss = lossError(this.ref, reason, this.#lastTrouble, forced);
    this.#finish(reason);
    emitLoss(this, reason, this.#heldMs);
    this.lossSignal.abort(this.#loss);
    this.localQueue.next();
    const leases = SWEEP_AFTER_LEASES[reason];
    if (leases === undefined) return;
    const from = { known: this.held };
    this.living.life?.sweep(this.ref, from, this.settings.keepData, leases * this.leaseMs);
  }

  /** The release found that the lease had been lost before: the loss is told all the same, once. */
  lostBeforeRelease(reason: LossReason): void {
    this.#loss ??= lossError(this.ref, reason, undefined);
    this.lossSignal.abort(this.#loss);
  }

  /** Ends the hold by its holder's will; false if it had ended already. Its release abandons its id, once answered. */
  beginRelease(): boolean {
    if (!this.isHeld) return false;
    this.#finish(undefined);
    emitRelease(this, this.#heldMs);
    return true;
  }

  #finish(reason: LossReason | undefined): void {
    this.#isOver = true;
    if (reason !== undefined && !RESERVED_AFTER_LOSS.includes(reason))
      this.context.abandon(this.held.holder);
    this.context.holds.delete(this);
    this.context.scheduler.forget(this);
    this.settings.keptAliveBy?.ended(this);
    this.living.life?.ended(this);
  }

  /** Sends a renewal, or the move, if it is due. Called by the keeper; also aborts at the deadline. */
  tend(): number | undefined {
    if (!this.isHeld || this.living.isMoved) return undefined;
    if (!this.#isRenewing && this.context.nowMs() >= this.#times.nextMs) {
      this.#isRenewing = true;
      this.context.inBackground(async () => {
        await this.#renewOrMove().finally(() => {
          this.#isRenewing = false;
        });
        if (!this.#isOver && !this.living.isMoved) {
          this.context.scheduler.visit(this, this.#nextVisitMs());
        }
      });
    }
    return this.#nextVisitMs();
  }

  async #renewOrMove(): Promise<void> {
    const life = this.settings.keptAliveBy?.current(this.leaseMs);
    if (life === undefined) await this.renewOnce();
    else await life.adopt(this);
  }

  // While a renewal is on its way the next thing that can be due is the deadline.
  #nextVisitMs(): number {
    const deadlineMs = this.deadline.atMonotonicMs;
    return this.#isRenewing ? deadlineMs : Math.min(deadlineMs, this.#times.nextMs);
  }

  /** One plain renewal, which may be applied twice: it says nothing but that the holder lives (R5). */
  renewOnce(): Promise<RenewalAnswer> {
    const askedMs = this.context.nowMs();
    return this.requests.run(async () => {
      // Another renewal was answered, or the move was, while this one waited for its turn.
      if (this.#renewedAtMs > askedMs || this.living.isMoved) return this.isHeld ? "held" : "lost";
      const start = instantOf(this.context.clock);
      const lateMs = Math.max(0, start.monotonicMs - this.#times.nextMs);
      const renewal = this.renewal(this.leaseMs);
      const answer = await this.send({
        write: this.context.format.renew(this.ref, this.held, renewal),
        isIn: (record) => record.mark === renewal.mark,
      });
      if (answer.kind === "applied") {
        this.renewed(start, this.leaseMs, answer.record);
        emitRenewal(this, true, lateMs, start);
        return "renewed";
      }
      if (answer.kind === "lost") return "lost";
      if (answer.kind === "mine") this.#learnVersion(answer.record);
      // Refused, too: a record that was put back from a copy refuses every renewal of its grant.
      this.#times.putOff(this.context.nowMs() + this.retryPauseMs());
      emitRenewal(this, false, lateMs, start);
      this.settings.onRenewal?.(undefined);
      // A wrong configuration can be put right before the deadline: only that decides.
      return "unknown";
    });
  }

  // One without an order is named exactly, and an earlier renewal that nobody answered has moved it on.
  #learnVersion({ version }: HeldRecord): void {
    if (typeof version === "string") this.version = version;
  }

  /** An answered renewal, sent at `start`: the one thing that moves the deadline. */
  renewed(start: Instant, leaseMs: number, record: HeldRecord): void {
    this.leaseMs = leaseMs;
    this.version = record.version;
    this.living.renewed(this.deadlineFrom(start, leaseMs));
    this.#lastTrouble = undefined;
    this.#times.renewed(start);
    this.#renewedAtMs = this.context.nowMs();
    this.settings.onRenewal?.(record);
  }

  /** The move was answered: from now on only what it lives by is renewed. */
  moved(record: HeldRecord): void {
    this.living.moved();
    this.version = record.version;
    this.leaseMs = this.living.life?.leaseMs ?? this.leaseMs;
    this.context.scheduler.forget(this);
  }

  get #heldMs(): number {
    return this.context.nowMs() - this.#grantedAtMs;
  }

  renewal(leaseMs: number, data?: NumberedData): Renewal {
    const { context, version } = this;
    return { mark: context.random.id(), version, leaseMs, wallMs: context.wallMs(), data };
  }

  /** Sends one write under the hold. What its answer says of the record decides whether it is lost. */
  async send({ write, isIn }: HoldWrite): Promise<HoldAnswer> {
    // It may have waited for its turn until the lease was over.
    const leftMs = this.check();
    if (leftMs <= 0) return { kind: "lost" };
    const answer = await this.context.write(write, this.context.timeoutWithin(leftMs));
    const record = this.#read(answer);
    // An answer that comes after the deadline revives nothing.
    if (!this.isHeld) return { kind: "lost" };
    if (record === undefined) return this.#unanswered(answer);
    if (record === "lost") return { kind: "lost" };
    return { kind: answer.kind === "applied" || isIn(record) ? "applied" : "mine", record };
  }

  #read(answer: WriteAnswer): HeldRecord | "lost" | undefined {
    if (answer.kind !== "applied" && answer.kind !== "refused") return undefined;
    const found = this.context.see(this.ref, answer.item, "strong");
    const reason = lossIn(found, this.held);
    if (reason !== undefined) this.end(reason, forcedIn(found, this.held));
    return reason === undefined ? (found as HeldRecord) : "lost";
  }

  /** Reads its own record: somebody may have written to it what this holder is to know. */
  async look(): Promise<void> {
    const read = { key: this.ref.key, consistent: true };
    const timeoutMs = this.context.timeoutWithin(this.deadline.remainingMs());
    const answer = await this.context.read(read, timeoutMs);
    if (answer.kind === "found" && this.isHeld) this.#read({ kind: "refused", item: answer.item });
  }

  #unanswered(answer: WriteAnswer): HoldAnswer {
    if (answer.kind === "misconfigured") {
      this.#lastTrouble = answer.error;
      return answer;
    }
    this.#lastTrouble = "cause" in answer ? answer.cause : undefined;
    return { kind: "unknown" };
  }

  /** How long to wait before sending again what nobody answered, in milliseconds, with jitter. */
  retryPauseMs(): number {
    return this.context.jittered(retryPauseMs(this.leaseMs, this.deadline.remainingMs()));
  }
}
