import { isJudged, type ReadAnswer, type WriteAnswer } from "../../platform/table.js";
import { LEAST_JITTER } from "../backoff.js";
import type { HoldQueue } from "../hold/hold.js";
import { Pacer } from "../pacer.js";
import type { Decision } from "../record/decide.js";
import type { RecordRef } from "../record/format.js";
import type { ObservedHeld } from "../record/observation.js";
import { hasQueue } from "../record/record.js";
import type { Ending, Looking } from "../remote-sessions.js";
import type { Ear, RingKind } from "../rings.js";
import { tooSlow } from "../unavailable.js";
import type { Cancelling } from "./cancellation.js";
import type { AcquireContext } from "./context.js";
import { type GrantAnswer, type Granting, grantedTo, grantOnce } from "./grant.js";
import type { noteSighting } from "./note-sighting.js";
import { type AcquireOutcome, mostPassedAt, outcomeOf, type Rivalry } from "./outcome.js";
import { PollPace } from "./poll-pace.js";
import { SecondDate } from "./second-date.js";
import type { AcquireSettings, Asker, Contending, Granted, Place, Queueing } from "./settings.js";
import { unlessUnserved, untilAnswered } from "./until-answered.js";

// A table that is well answers within this time.
const ANSWER_MS = 1_000;

type Waiting = Extract<Decision, { readonly kind: "wait" | "queued" }>;

const NO_RIVALS: Rivalry = { passedBy: 0, mostPassed: 1, hasQueue: false };

/** Contends for one record: decides, writes, waits, reads, and decides again. */
export class AcquireLoop {
  #contending: Contending;
  readonly #context: AcquireContext;
  readonly #ref: RecordRef;
  readonly #localQueue: HoldQueue;
  #settings: AcquireSettings;
  readonly #cancellation: Cancelling;
  readonly #place: Place | undefined;
  readonly #asker: Asker | undefined;
  readonly #pacer: Pacer;
  readonly #pace: PollPace;
  /** The fence of the first holder that this waiter saw. */
  #firstFence: bigint | undefined;
  /** After how many grants to others this waiter takes a place. */
  #mostPassed: number | undefined;
  /** The error of the attempt that took too long, for a call without a wait. */
  #silence: unknown;
  #silences = 0;
  #hasNoted = false;
  readonly #secondDate: SecondDate;
  readonly #fromMs: number;
  readonly #ear: Ear | undefined;

  constructor(contending: Contending) {
    const { context, ref, localQueue, settings, cancellation, place } = contending;
    this.#contending = contending;
    this.#context = context;
    this.#ref = ref;
    this.#localQueue = localQueue;
    this.#settings = settings;
    this.#cancellation = cancellation;
    this.#place = place;
    this.#pacer = new Pacer(context, settings);
    this.#fromMs = context.nowMs();
    this.#pace = new PollPace(settings);
    this.#secondDate = new SecondDate(context, ref);
    this.#ear = context.rings?.ear();
    this.#asker = settings.asks?.(contending);
    this.#followAsker();
  }

  /** Rejects with the error of the cancellation, of an unreadable record (R12) or of a wrong configuration. */
  run(): Promise<AcquireOutcome> {
    const run = this.#run();
    return this.#ear === undefined ? run : run.finally(() => this.#ear?.close());
  }

  async #run(): Promise<AcquireOutcome> {
    await this.#standBack();
    const queueing = this.#context.format.queue === undefined ? undefined : this.#settings.queueing;
    let decision: Decision = this.#firstDecision();
    for (;;) {
      if (this.#cancellation.isStopped) throw this.#cancellation.error();
      this.#asker?.check(this.#context.observations.known(this.#ref.id));
      if (this.#secondDate.isMissing(decision, this.#needsNote(decision))) {
        await this.#look();
        decision = this.#decide();
        continue;
      }
      if (this.#needsNote(decision)) {
        this.#hasNoted = true;
        const leaveNote = this.#context.format.sightings?.leave as typeof noteSighting;
        await leaveNote(this.#contending);
        decision = this.#decide();
        continue;
      }
      this.#noteContention(decision);
      if (decision.kind === "wait" && (await this.#ask())) {
        decision = this.#decide();
        continue;
      }
      const outcome = outcomeOf(decision, {
        waitMs: this.#settings.waitMs,
        waitedMs: this.#context.nowMs() - this.#fromMs,
        queueing,
        ...this.#rivalry(decision),
      });
      if (outcome === "needs-place") {
        if (await this.#mayJoin(queueing, decision)) return { kind: "queued" };
      } else if (outcome !== undefined) return { kind: outcome };
      switch (decision.kind) {
        case "wait":
        case "queued":
          if (!(await this.#wait(decision))) break;
          decision = this.#blindClaim();
          continue;
        case "look-at-session":
        case "end-session":
          await this.#followSession(decision);
          // If a session that was to end lives, the record may be another one by now. A call without a wait has not looked at
          // it, and a waiter whose pauses are longer than the session would never look.
          if (decision.kind === "look-at-session" || this.#decide().kind !== "wait") break;
          if (this.#settings.waitMs === 0) {
            decision = this.#blindClaim();
            continue;
          }
          await this.#poll(this.#pace.pollMs);
          break;
        case "claim":
        case "take-over": {
          // Another attempt would take as long and end the same way.
          if (this.#silence !== undefined) {
            throw tooSlow([this.#ref.name], this.#settings.leaseMs, this.#silence);
          }
          if ((await this.#place?.isFirst()) === false) return { kind: "not-first" };
          const answer = await grantOnce(this.#contending, decision);
          const granted = await this.#grantedBy(decision, answer);
          if (granted !== undefined) return { kind: "granted", granted };
        }
      }
      await this.#pacer.beforeNextRound(this.#cancellation.signal);
      decision = this.#decide();
    }
  }

  get #held(): ObservedHeld | undefined {
    return this.#context.observations.held(this.#ref.id);
  }

  /** Asks the holder, if this waiter has something to ask and did not yet. */
  async #ask(): Promise<boolean> {
    const held = this.#held;
    if (this.#asker === undefined || held === undefined || !this.#cancellation.waits) return false;
    const isAsked = await this.#asker.ask(held);
    this.#followAsker();
    return isAsked;
  }

  // The number of an asker is a part of the condition of its claims.
  #followAsker(): void {
    if (this.#asker === undefined) return;
    this.#settings = { ...this.#settings, passage: this.#asker.passage };
    this.#contending = { ...this.#contending, settings: this.#settings };
  }

  /** Returns how often other waiters got the lock first, and whether they queue. Each grant raises the fence by one. */
  #rivalry({ kind }: Decision): Rivalry {
    const held = this.#held;
    if (kind !== "wait" || held === undefined) return NO_RIVALS;
    this.#firstFence ??= held.fence;
    const passedBy = Number(held.fence - this.#firstFence);
    if (passedBy > 0) this.#mostPassed ??= mostPassedAt(this.#context.random.fraction());
    return { passedBy, mostPassed: this.#mostPassed ?? 1, hasQueue: hasQueue(held) };
  }

  async #mayJoin(queueing: Queueing | undefined, { kind }: Decision): Promise<boolean> {
    if (this.#cancellation.isStopped) return false;
    const answer = await queueing?.mayJoin(this.#contending);
    // Before a free lock, the next request of a waiter without an answer is for a ticket: it waits for that, and is told why.
    return answer === "allowed" || (answer === "unknown" && kind === "queued");
  }

  // A waiter that can watch the record for the whole lease needs no note.
  #needsNote(decision: Decision): boolean {
    if (this.#hasNoted || decision.kind !== "wait") return false;
    if (this.#context.format.sightings === undefined) return false;
    return decision.acquirableAtMs > this.#fromMs + this.#settings.waitMs;
  }

  #noteContention({ kind }: Decision): void {
    if (kind !== "wait" && kind !== "queued") return;
    this.#context.observations.seeRival(this.#ref.id, this.#context.nowMs());
    this.#cancellation.onWait(this.#held?.owner);
  }

  // A process that releases a lock and claims the lock again at once would starve the clients that poll.
  async #standBack(): Promise<void> {
    const { passage, queueing, keep, minPollMs, maxPollMs } = this.#settings;
    const { observations } = this.#context;
    const sinceMs = observations.askedMs(this.#ref.id, keep !== undefined);
    // The queue already keeps the order, and of the callers that interrupt the newest is first.
    const isInOrder = this.#place !== undefined || passage !== undefined;
    if (isInOrder || (queueing?.joins === "at once" && sinceMs === undefined)) return;
    const fromMs = observations.takeStandBack(this.#ref.id);
    const untilMs = sinceMs === undefined ? fromMs && fromMs + minPollMs : sinceMs + maxPollMs;
    if (untilMs === undefined) return;
    const { leftMs = 0, signal } = this.#cancellation;
    const pauseMs = Math.min(untilMs - this.#context.nowMs(), leftMs / 2);
    if (pauseMs > 0) await this.#context.sleep(pauseMs, signal);
  }

  #decide(): Decision {
    return this.#context.decide(this.#ref, this.#settings.onlyIfExists, this.#settings.passage);
  }

  // Earlier observations may be stale, so the waiter starts with a claim that requires no version. Not so if the client
  // knows that the holder is dead, or has abandoned the holder's id: neither can change back.
  #firstDecision(): Decision {
    const decision = this.#decide();
    if (this.#place !== undefined) return decision;
    return decision.kind === "take-over" || decision.kind === "end-session"
      ? decision
      : this.#blindClaim();
  }

  #blindClaim(): Decision {
    return { kind: "claim", onto: { kind: this.#settings.onlyIfExists ? "existing" : "blind" } };
  }

  /** Returns the lease of a granted attempt, or undefined if DynamoDB refused the attempt or did not answer. */
  async #grantedBy(decision: Granting, answer: GrantAnswer): Promise<Granted | undefined> {
    if (answer.kind === "silent") await this.#lookAfterSilence();
    if (answer.kind !== "granted") return undefined;
    const how = decision.kind === "take-over" ? "takeover" : "claim";
    return grantedTo(this.#contending, answer.result, how, this.#localQueue);
  }

  // After one lost answer, a call without a wait must not fail. If a second answer is lost, or the call has lasted for
  // a whole request timeout, the table is too slow: the call would never end.
  async #lookAfterSilence(): Promise<void> {
    const silence = this.#cancellation.error();
    this.#silences += 1;
    await this.#look(true);
    if (this.#settings.waitMs !== 0) return;
    const tookMs = this.#context.nowMs() - this.#fromMs;
    const isTooSlow = this.#silences > 1 || tookMs >= this.#context.settings.requestTimeoutMs;
    if (isTooSlow) this.#silence = silence;
  }

  /**
   * Waits for the next poll and polls. Does not poll if the holder counts as dead before then. Returns true, without a
   * poll, if a ring says that the record is free: the claim finds that out in one request.
   */
  async #wait(decision: Waiting): Promise<boolean> {
    const fromMs = this.#context.nowMs();
    const pauseMs = this.#pace.pauseMs(this.#context.observations.holdsSeen(this.#ref.id, fromMs));
    const pollMs = this.#context.jittered(pauseMs);
    const takeableMs =
      decision.kind === "wait" ? decision.acquirableAtMs - fromMs : Number.POSITIVE_INFINITY;
    const rung = await this.#rest(pollMs, takeableMs);
    this.#pacer.paused();
    if (this.#cancellation.isStopped) return false;
    if (rung === "free" && decision.kind === "wait") return true;
    // A takeover needs no read before: its condition is the watched version, and its refusal shows the record.
    if (rung === undefined && takeableMs <= pollMs) return false;
    await this.#poll(pauseMs, takeableMs - (this.#context.nowMs() - fromMs));
    return false;
  }

  /** Sleeps until the next poll, the takeover or a ring. If the holder will ring, the next poll is as late as a poll may be. */
  async #rest(pollMs: number, takeableMs: number): Promise<RingKind | undefined> {
    const { signal } = this.#cancellation;
    const restMs = Math.min(pollMs, takeableMs);
    this.#ear?.listen(this.#held);
    const { maxPollMs, heardMs = maxPollMs } = this.#settings;
    // The holder's renewals must still show, or each pause would end in a refused takeover.
    const longestMs = Math.min(heardMs, takeableMs / 2);
    const rung = await (this.#ear?.sleep(restMs, longestMs, signal) ??
      this.#context.sleep(restMs, signal));
    return rung || undefined;
  }

  /** Polls. `leftMs`: the timeout ends before the takeover is due. */
  async #poll(pauseMs: number, leftMs = Number.POSITIVE_INFINITY): Promise<void> {
    const timeoutMs = Math.max(Math.min(this.#context.settings.requestTimeoutMs, leftMs), 1);
    const readMs = this.#context.nowMs();
    const answer = await this.#read("eventual", timeoutMs);
    this.#pace.polled(this.#context.nowMs() - readMs);
    const found = this.#unlessUnserved(answer, readMs, timeoutMs);
    if (found === undefined) return;
    // Only a strongly consistent read proves that the record is absent.
    if (found.item === undefined) return this.#look();
    const record = this.#context.seeRecord(this.#ref, found, "eventual");
    const held = record.state === "held" ? record : undefined;
    this.#pace.seeHolder(held?.holder);
    if (held?.session === undefined || this.#cancellation.isStopped) return;
    const seen = await this.#context.sessions.poll(
      held.session,
      // So a single waiter polls the session as often as the record.
      pauseMs * LEAST_JITTER,
      this.#cancellation.signal,
      timeoutMs,
    );
    if (seen !== undefined) this.#unlessUnserved(seen, readMs, timeoutMs);
  }

  // A poll that a takeover cuts off has not had the time for its answer, and says nothing of the table.
  #unlessUnserved(answer: ReadAnswer, fromMs: number, timeoutMs: number) {
    const { requestTimeoutMs } = this.#context.settings;
    const isCutOff = timeoutMs < Math.min(requestTimeoutMs, ANSWER_MS);
    if (answer.kind === "unknown" && isCutOff && this.#context.nowMs() >= fromMs + timeoutMs)
      return;
    return unlessUnserved(this.#contending, answer);
  }

  /** Reads the record, strongly consistent, for the next decision. */
  #look(afterSilence = false): Promise<void> {
    return this.#untilAnswered(async () => {
      const answer = await this.#read("strong");
      if (answer.kind === "found") this.#context.seeRecord(this.#ref, answer, "strong");
      return answer;
    }, afterSilence);
  }

  /**
   * Sends a request about the session that the record names until DynamoDB serves it, or the record names it no more. A
   * policy may refuse all requests about sessions, and the partition of one may not answer: without a read of the record, the
   * waiter would never see its release.
   */
  #followSession(decision: Ending | Looking): Promise<void> {
    return this.#untilAnswered(async () => {
      const { owner } = this.#settings;
      const { signal } = this.#cancellation;
      const answer = await this.#context.sessions.follow(decision, owner, signal);
      const isServed = answer.kind === "found" || isJudged(answer);
      if (isServed || !this.#cancellation.waits || this.#cancellation.isStopped) return answer;
      const read = await this.#read("strong");
      if (read.kind !== "found") return answer;
      const record = this.#context.seeRecord(this.#ref, read, "strong");
      return record.state === "held" && record.session === decision.session ? answer : read;
    });
  }

  async #untilAnswered(
    ask: () => Promise<ReadAnswer | WriteAnswer>,
    afterSilence = false,
  ): Promise<void> {
    await untilAnswered(this.#contending, { pauseMs: this.#pace.pollMs, afterSilence }, ask);
  }

  #read(strength: "strong" | "eventual", timeoutMs?: number): Promise<ReadAnswer> {
    const attributes = this.#context.format.codec.pollAttributes;
    const read = { key: this.#ref.key, consistent: strength === "strong", attributes };
    return this.#context.read(read, timeoutMs, this.#cancellation.signal);
  }
}
