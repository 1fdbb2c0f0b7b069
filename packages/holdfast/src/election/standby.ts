import { acquire } from "../core/acquire/acquire.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import type { Shown } from "../core/context.js";
import { FailingCall } from "../core/failing-call.js";
import type { HeldLease } from "../core/hold/lease.js";
import { OutageWatch } from "../core/outage-watch.js";
import type { Decision } from "../core/record/decide.js";
import type { Observation, ObservedHeld } from "../core/record/observation.js";
import type { Ear } from "../core/rings.js";
import type { Unavailable } from "../core/unavailable.js";
import { isOutageError } from "../core/unavailable.js";
import { isHoldfastError } from "../errors.js";
import { isNoAnswer, type NoAnswer } from "../platform/retry.js";
import type { Candidate } from "./candidate.js";
import { askOnce } from "./requests.js";

// The pause before a read, as parts of the poll: spread, so that candidates do not read in step, and shorter than the
// poll, so that a read and the grant after it fit into the poll.
const SHORTEST_PAUSE = 0.8;
const PAUSE_SPREAD = 0.1;
/** The mean pause. */
export const MEAN_PAUSE = SHORTEST_PAUSE + PAUSE_SPREAD / 2;
// The longest pause after an unanswered read; the table may answer again at any moment.
const LONGEST_RETRY_MS = 1_000;
// Reads once more 1/40 of a poll before the takeover time, so that the answer is there by then. Only candidates that
// read in that moment attempt the write.
const LAST_READ_PART = 0.025;
// A hanging read must not delay a takeover by more than this part of the poll.
const LONGEST_READ_PART = 0.1;
// The default poll of the leader that was asked, and so probably of its rivals, as a part of its lease: they let a preferred
// candidate go first for two polls of their own.
const ASKED_PART = 0.1;
// The watch tells of an outage before, and does not see answers that only take longer than the lease allows.
const LEAST_FAILING_MS = 4_000;
// Two attempts may fail by two pauses of this process.
const LEAST_FAILING_TRIES = 3;
// A leader resigns only when its work has stopped. The bound is for one that never does.
const LONGEST_STOP_MS = 60_000;
/** For how many polls a candidate lets others go first: after its resignation, and before a preferred candidate. */
const STAND_BACK_POLLS = 2;

/** Why this candidate knows of no live leader, and since when. */
interface Gap {
  readonly cause: "vacant" | "silent" | "unreachable";
  readonly sinceMs: number;
}

/** The parts of a grant that are not candidate settings. */
export interface Standing {
  readonly data: unknown;
  readonly onRenewal: NonNullable<AcquireSettings["onRenewal"]>;
  /** Ends the wait; also aborts when the client closes. */
  readonly signal: AbortSignal;
  /** When this candidate resigned its last term, on the monotonic clock; undefined without such a term. */
  readonly resignedAtMs: number | undefined;
}

/** A grant, and for how long this candidate had known of no live leader. */
interface Elected {
  readonly lease: HeldLease;
  readonly gapMs: number | undefined;
}

/**
 * Stands by until the candidate is elected.
 *
 * Polls the record, and sends a write only if the write can be applied. So an observation is never older than a poll, a
 * dead leader is replaced at most a poll after its watch ends, and hundreds of candidates cost only their reads.
 */
export class Standby {
  readonly #candidate: Candidate;
  readonly #standing: Standing;
  /** All instants are on the monotonic clock. */
  #vacantSinceMs: number | undefined;
  /** The last answer that showed a leader; at first the end of this candidate's own last term. */
  #ledAtMs: number | undefined;
  #answeredAtMs: number;
  #readAtMs = 0;
  #yielding: { readonly last: string; readonly untilMs: number } | undefined;
  #lastCause: Gap["cause"] = "vacant";
  /** Until when this preferred candidate reads often, because the leader that it has asked resigns. */
  #resignsUntilMs = Number.NEGATIVE_INFINITY;
  #askedLeaseMs = Number.POSITIVE_INFINITY;
  /** The grants without a result: with answers that take longer than its lease allows, no candidate leads. */
  readonly #failing: FailingCall;
  readonly #watch: OutageWatch;
  readonly #ear: Ear | undefined;

  constructor(candidate: Candidate, standing: Standing) {
    this.#candidate = candidate;
    this.#watch = new OutageWatch(candidate.context);
    this.#failing = new FailingCall(candidate.context, {
      report: candidate.report,
      tries: LEAST_FAILING_TRIES,
      lastsMs: Math.max(2 * candidate.context.settings.requestTimeoutMs, LEAST_FAILING_MS),
    });
    this.#ear = candidate.context.rings?.ear();
    this.#standing = standing;
    this.#answeredAtMs = candidate.context.nowMs();
    this.#ledAtMs = standing.resignedAtMs;
  }

  /**
   * Resolves once elected. Rejects with the signal's reason, with `closed`, or with an error that waiting cannot cure:
   * `misconfigured`, `foreign-record`, `unsupported-layout`. Refused credentials may heal, so the candidate tries again.
   */
  run(): Promise<Elected> {
    return this.#untilElected().finally(() => {
      this.#watch.dispose();
      this.#ear?.close();
    });
  }

  async #untilElected(): Promise<Elected> {
    // A random first pause: candidates that start together do not read in step.
    let part = this.#candidate.context.random.fraction();
    for (;;) {
      const isAnswered = await this.#readRecord();
      if (isAnswered) await this.#untilTakeable();
      this.#throwIfEnded();
      const decision = this.#decide();
      const gapMs = this.#emitGap(isAnswered);
      if (isAnswered && isGrantable(decision) && !this.#mustYield()) {
        const lease = await this.#try();
        if (lease !== undefined) return { lease, gapMs: this.#emitGapOver(gapMs) };
        this.#throwIfEnded();
      }
      if (isAnswered) await this.#ask();
      await this.#pause(isAnswered, part);
      part = SHORTEST_PAUSE + PAUSE_SPREAD * this.#candidate.context.random.fraction();
      this.#throwIfEnded();
    }
  }

  #decide(): Decision {
    const { context, ref } = this.#candidate;
    return context.decide(ref, false);
  }

  get #record() {
    const { context, ref } = this.#candidate;
    return context.observations.known(ref.id);
  }

  #throwIfEnded(): void {
    if (this.#standing.signal.aborted) throw this.#standing.signal.reason;
  }

  /** Reads the record; answers whether DynamoDB answered. */
  async #readRecord(): Promise<boolean> {
    const { context, ref } = this.#candidate;
    this.#readAtMs = context.nowMs();
    const before = this.#record;
    const found = await this.#read(false);
    if (found === undefined) return false;
    // Only a strongly consistent read may conclude that there is no record, or that the end of a lease is past.
    const isDoubtful = found.item === undefined || this.#seemsOver(found);
    const certain = isDoubtful ? await this.#read(true) : found;
    if (certain === undefined) return false;
    const record = context.seeRecord(ref, certain, isDoubtful ? "strong" : "eventual");
    this.#answeredAtMs = context.nowMs();
    this.#candidate.trouble.answered(record.state === "held");
    if (record.state === "held") {
      this.#vacantSinceMs = undefined;
      this.#ledAtMs = this.#answeredAtMs;
      // Only a leader renews: a grant without an answer, of this candidate or another, is not the end of the trouble.
      if (before?.state === "held" && isRenewed(before, record)) this.#failing.onSuccess();
    } else this.#vacantSinceMs ??= this.#ledAtMs ?? this.#answeredAtMs;
    return true;
  }

  /** Whether an eventual read shows a leader whose lease is over, and this candidate must not take over yet. */
  #seemsOver(found: Shown): boolean {
    const { context, ref } = this.#candidate;
    const record = context.seeRecord(ref, found, "eventual");
    return context.seemsOver(record, found) && this.#decide().kind === "wait";
  }

  async #read(consistent: boolean) {
    const { context, ref } = this.#candidate;
    const read = { key: ref.key, consistent, attributes: context.format.codec.pollAttributes };
    const answer = context.unlessLasting(
      await context.read(read, this.#readTimeoutMs(), this.#standing.signal),
      true,
    );
    if (answer.kind !== "found") {
      if (!this.#standing.signal.aborted) this.#onNoResponse(answer, "read");
      return undefined;
    }
    this.#watch.onResponse();
    return answer;
  }

  #onNoResponse(answer: NoAnswer, request: "read" | "write"): void {
    this.#watch.onNoResponse(answer);
    if (answer.kind === "denied") this.#candidate.trouble.note(answer.cause, request);
  }

  /** The timeout of a read: a hanging read must not delay a takeover. */
  #readTimeoutMs(): number {
    const { context, settings } = this.#candidate;
    const { requestTimeoutMs } = context.settings;
    const inMs = this.#acquirableInMs();
    const leftMs = Number.isFinite(inMs) ? inMs : requestTimeoutMs;
    const shortestMs = Math.max(settings.pollMs * LONGEST_READ_PART, 50);
    return Math.min(requestTimeoutMs, Math.max(leftMs, shortestMs));
  }

  // Attempts the grant once. The core rolls back an unanswered grant; this loop reads again after a pause.
  async #try(): Promise<HeldLease | undefined> {
    const { context, ref, settings } = this.#candidate;
    const { data, onRenewal, signal } = this.#standing;
    const fromMs = context.nowMs();
    try {
      const onNoResponse = (unavailable: Unavailable): void =>
        this.#watch.onNoResponse(unavailable);
      const asked = { ...settings.grant, data, onRenewal, signal, onNoResponse };
      return await acquire(context, ref, asked);
    } catch (error) {
      if (!isOutageError(error)) this.#unlessDenied(error);
      else if (!signal.aborted && this.#failing.onFailure(error, fromMs))
        this.#candidate.trouble.note(error, "write");
    }
    return undefined;
  }

  /** Rethrows an error that waiting cannot cure. */
  #unlessDenied(error: unknown): void {
    if (!isHoldfastError(error) || !this.#candidate.context.mayHeal(error)) throw error;
    this.#onNoResponse({ kind: "denied", cause: error }, "write");
  }

  /** A preferred candidate asks a leader that may not be preferred to resign, once a term. */
  async #ask(): Promise<void> {
    const record = this.#record;
    if (!this.#candidate.settings.preferred || record?.state !== "held") return;
    if (record.request?.holder === record.holder || this.#isSilent(record.leaseMs)) return;
    const asked = await askOnce(this.#candidate, record.holder, "prefer").catch((error) =>
      this.#unlessDenied(error),
    );
    if (asked?.kind === "asked") {
      this.#resignsUntilMs =
        this.#candidate.context.nowMs() + Math.max(record.leaseMs, LONGEST_STOP_MS);
      this.#askedLeaseMs = record.leaseMs;
    }
    // An outage may begin with this write.
    if (asked !== undefined && isNoAnswer(asked)) this.#onNoResponse(asked, "write");
  }

  #isSilent(leaseMs: number): boolean {
    const { context, ref } = this.#candidate;
    const seen = context.observations.of(ref.id);
    return seen !== undefined && context.nowMs() - silentSinceMs(seen, context.times()) > leaseMs;
  }

  // After a resignation other candidates go first. If a preferred candidate asked the last leader to resign, that
  // candidate goes first.
  #mustYield(): boolean {
    const { context, settings } = this.#candidate;
    const { resignedAtMs = Number.NEGATIVE_INFINITY } = this.#standing;
    const backMs = STAND_BACK_POLLS * settings.pollMs;
    if (context.nowMs() < resignedAtMs + backMs) return true;
    const record = this.#record;
    if (settings.preferred || record === undefined) return false;
    const last = record.state === "held" ? record.holder : record.lastHolder;
    const { request } = record;
    if (last === undefined || request?.kind !== "prefer" || request.holder !== last) return false;
    if (this.#yielding?.last !== last) {
      this.#yielding = { last, untilMs: context.nowMs() + backMs };
    }
    return context.nowMs() < this.#yielding.untilMs;
  }

  /** Waits until the next poll, or until the last read before the leader counts as dead. */
  async #pause(isAnswered: boolean, part: number): Promise<void> {
    const { context, settings } = this.#candidate;
    const { pollMs } = settings;
    // Counted from the start of the last read: the pause shrinks by the read's duration.
    const isResigning = context.nowMs() < this.#resignsUntilMs;
    const periodMs = isResigning ? Math.min(pollMs, this.#askedLeaseMs * ASKED_PART) : pollMs;
    const pollLeftMs = this.#readAtMs + periodMs * part - context.nowMs();
    const lastReadMs = this.#acquirableInMs() - pollMs * LAST_READ_PART;
    const retryMs = context.jittered(Math.min(LONGEST_RETRY_MS, pollMs / 4));
    // After the last read an unanswered read needs its pause, too: a throttled table must not be read in a loop.
    const isLate = !isAnswered && lastReadMs <= 0;
    const pauseMs = isLate ? retryMs : Math.min(isAnswered ? pollLeftMs : retryMs, lastReadMs);
    const restMs = Math.max(1, pauseMs);
    if (this.#ear === undefined) return context.sleep(restMs, this.#standing.signal);
    const { ref } = this.#candidate;
    this.#ear.listen(context.observations.held(ref.id));
    await this.#ear.sleep(restMs, restMs, this.#standing.signal);
  }

  /** Waits for the rest of the watch after the last read. */
  async #untilTakeable(): Promise<void> {
    const { context, settings } = this.#candidate;
    const leftMs = this.#acquirableInMs();
    if (leftMs > 0 && leftMs <= settings.pollMs * LAST_READ_PART) {
      await context.sleep(leftMs, this.#standing.signal);
    }
  }

  /** Milliseconds until the observed leader counts as dead; infinite without such a leader. */
  #acquirableInMs(): number {
    const decision = this.#decide();
    if (decision.kind !== "wait") return Number.POSITIVE_INFINITY;
    return decision.acquirableAtMs - this.#candidate.context.nowMs();
  }

  #emitGap(isAnswered: boolean): number | undefined {
    const gap = this.#gap(isAnswered);
    if (gap === undefined) return undefined;
    const gapMs = this.#candidate.context.nowMs() - gap.sinceMs;
    this.#lastCause = gap.cause;
    this.#candidate.monitor.gap(gap.cause, gapMs, false);
    return gapMs;
  }

  #emitGapOver(gapMs: number | undefined): number | undefined {
    if (gapMs !== undefined) this.#candidate.monitor.gap(this.#lastCause, gapMs, true);
    return gapMs;
  }

  #gap(isAnswered: boolean): Gap | undefined {
    const { context, ref } = this.#candidate;
    if (!isAnswered) return { cause: "unreachable", sinceMs: this.#answeredAtMs };
    if (this.#vacantSinceMs !== undefined) return { cause: "vacant", sinceMs: this.#vacantSinceMs };
    const seen = context.observations.of(ref.id);
    if (seen?.record.state !== "held" || !this.#isSilent(seen.record.leaseMs)) return undefined;
    return { cause: "silent", sinceMs: silentSinceMs(seen, context.times()) };
  }
}

/**
 * Returns since when a leader has not renewed, on the monotonic clock: since this candidate saw the record change, or
 * earlier, if the end of the lease in the record shows an earlier renewal. Without the end, a candidate that has just
 * started would count only from its own first read.
 */
function silentSinceMs(
  { record, sinceMs, dated }: Observation,
  { nowMs, tableNowMs }: { readonly nowMs: number; readonly tableNowMs: number },
): number {
  if (record.state !== "held" || record.endMs === undefined || dated === undefined) return sinceMs;
  const renewedMs = record.endMs - record.leaseMs;
  const byAnswerMs = dated.atMs - (dated.dateMs - renewedMs);
  // A single `Date` may be wrong.
  const byWitnessesMs = nowMs - (tableNowMs - renewedMs);
  return Math.min(sinceMs, Math.max(byAnswerMs, byWitnessesMs));
}

function isGrantable(decision: Decision): boolean {
  return decision.kind === "claim" || decision.kind === "take-over";
}

/** Whether the holder that was seen before has renewed its lease since. */
function isRenewed(before: ObservedHeld, { holder, version }: ObservedHeld): boolean {
  return before.holder === holder && before.version !== version;
}
