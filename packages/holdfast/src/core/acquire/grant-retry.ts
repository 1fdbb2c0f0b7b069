import { elapsedMsSince, type Instant, instantOf } from "../../platform/clock.js";
import { type NoAnswer, retry, type Unanswered } from "../../platform/retry.js";
import type { Misconfigured } from "../../platform/table.js";
import type { ClaimTurn } from "../admission.js";
import { steady } from "../backoff.js";
import { actingMs, Deadline, LEAST_PART_LEFT } from "../hold/deadline.js";
import type { Cancelling } from "./cancellation.js";
import type { AcquireContext } from "./context.js";
import type { AcquireSettings, Acquisition } from "./settings.js";
import { unlessUnserved } from "./until-answered.js";

// The dates in a request are of the time at which it was composed. A process may sleep for days between two sends, and a
// TTL of then would delete the record of a live lease. Far below the retention of a record (R10).
const OLDEST_MS = 3_600_000;

// The default `poll.max`: a longer one is for reads of a held record.
const LONGEST_PAUSE_MS = 2_000;

/** DynamoDB did not answer in the first half of the lease, or the request is too old to be sent again. */
export interface Silent {
  readonly kind: "silent";
}

const SILENT: Silent = Object.freeze({ kind: "silent" });

/**
 * Retries a step that completes an acknowledged grant, until it is answered or half of the lease has passed. Sends nothing
 * if half of the lease has passed already. Rejects with the error of the cancellation, or of a wrong configuration.
 */
export async function withinGrant<A extends { readonly kind: string }>(
  { context, cancellation }: Acquisition,
  grant: { readonly leaseMs: number; readonly pauseMs: number; readonly deadline: Deadline },
  attempt: () => Promise<A | Unanswered>,
): Promise<Exclude<A, Unanswered> | Silent> {
  const isInTime = (): boolean => grant.deadline.remainingMs() > grant.leaseMs / 2;
  if (!isInTime()) return SILENT;
  const retried = await retry<A>(context, attempt, {
    backoff: steady(grant.pauseMs),
    isOver: () => !isInTime(),
    signal: cancellation.signal,
    onNoAnswer: (answer) => {
      cancellation.onNoResponse(answer);
      if (cancellation.isStopped) throw cancellation.error();
    },
  });
  if (cancellation.isStopped) throw cancellation.error();
  return retried.kind === "answered" ? retried.answer : SILENT;
}

/** The steps of a request that may grant. */
interface GrantSteps<A extends { readonly kind: string }, R extends { readonly kind: string }> {
  send(timeoutMs: number): Promise<A>;
  /** Returns what an answer of DynamoDB means: of kind `granted` only if the caller gets the lease. */
  judge(sent: Exclude<A, NoAnswer | Misconfigured>): R | Promise<R>;
  /** Undoes what DynamoDB has applied or may still apply, if the caller gets no lease (R14). */
  undo(isSilent: boolean): void;
}

/**
 * Tracks the sends of one request that may grant: the start of the lease, the timeout of the next send, and how many
 * sends DynamoDB may have applied or may still apply. Create it just before the first send, in the same synchronous step.
 */
export class GrantRetry {
  readonly #context: AcquireContext;
  readonly #settings: AcquireSettings;
  readonly #cancellation: Cancelling;
  readonly #turn: ClaimTurn;
  readonly #first: Instant;
  #start: Instant;
  #leftMs: number;
  #pauseMs: number;
  #unanswered = 0;

  constructor({ context, settings, cancellation }: Acquisition, turn: ClaimTurn) {
    this.#context = context;
    this.#settings = settings;
    this.#cancellation = cancellation;
    this.#turn = turn;
    this.#start = instantOf(context.clock);
    this.#first = this.#start;
    // No part of the lease has passed yet, so a second reading of the clocks is not needed. The reading is the most
    // expensive step here.
    this.#leftMs = this.#lengthMs;
    this.#pauseMs = settings.retryMs;
  }

  /** Sends the request until DynamoDB answers. Rejects with the error of the cancellation, or of a wrong configuration. */
  async run<A extends { readonly kind: string }, R extends { readonly kind: string }>(
    steps: GrantSteps<A, R>,
  ): Promise<R | Silent> {
    let isGranted = false;
    let isSilent = false;
    try {
      let timeoutMs = this.#nextTimeoutMs();
      for (; timeoutMs !== undefined; timeoutMs = this.#nextTimeoutMs()) {
        const sent = await steps.send(timeoutMs);
        if (this.#isSettledBy(sent)) {
          const answer = await steps.judge(sent);
          isGranted = answer.kind === "granted";
          return answer;
        }
        await this.#pause();
      }
      isSilent = true;
      return SILENT;
    } finally {
      if (!isGranted) steps.undo(isSilent);
    }
  }

  /** The number of sends to roll back if the caller gets no lease: DynamoDB may have applied each of these sends. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** Counts a send that DynamoDB applied. */
  countApplied(): void {
    this.#unanswered += 1;
  }

  /** Counts at least one send: the record names this grant, so DynamoDB applied a send. */
  countFound(): void {
    this.#unanswered = Math.max(this.#unanswered, 1);
  }

  /** The instant from which the lease counts. */
  get start(): Instant {
    return this.#start;
  }

  /** Returns the timeout of the next send, or undefined if half of the lease has passed, or the request is too old. */
  #nextTimeoutMs(): number | undefined {
    if (this.#leftMs <= this.#settings.leaseMs / 2) return undefined;
    // Before the first send the two are one.
    const isOld =
      this.#start !== this.#first && elapsedMsSince(this.#first, this.#context.clock) > OLDEST_MS;
    if (isOld) return undefined;
    return this.#context.timeoutWithin(this.#leftMs);
  }

  /**
   * Whether DynamoDB applied or refused the request. Throws the error of a wrong configuration, unless the caller waits
   * and the error may heal.
   */
  #isSettledBy<A extends { readonly kind: string }>(
    sent: A,
  ): sent is Exclude<A, NoAnswer | Misconfigured> {
    if (sent.kind === "unknown") this.#unanswered += 1;
    const acquisition = { context: this.#context, cancellation: this.#cancellation };
    return unlessUnserved(acquisition, sent) !== undefined;
  }

  /** Pauses before the next send. Rejects with the error of the cancellation. */
  async #pause(): Promise<void> {
    const { waitMs } = this.#settings;
    const maxPollMs = Math.min(this.#settings.maxPollMs, LONGEST_PAUSE_MS);
    const triedMs = this.#context.nowMs() - this.#first.monotonicMs;
    if (waitMs === 0 && triedMs >= this.#context.settings.requestTimeoutMs) {
      throw this.#cancellation.error();
    }
    this.#turn.leave();
    const pauseMs = this.#context.jittered(this.#pauseMs);
    const longerMs = Math.min(pauseMs * this.#context.throttledBy(), maxPollMs);
    await this.#context.sleep(Math.max(pauseMs, longerMs), this.#cancellation.signal);
    if (!this.#turn.tryEnter()) await this.#turn.enter(this.#cancellation.signal);
    if (this.#cancellation.isStopped) throw this.#cancellation.error();
    this.#pauseMs = Math.min(2 * this.#pauseMs, maxPollMs);
    // If no earlier send can have been applied, the lease counts from the next send.
    if (this.#unanswered === 0) this.#start = instantOf(this.#context.clock);
    this.#leftMs = this.deadline.remainingMs();
  }

  /**
   * Whether the caller may get the lease: false if too little of the lease was left when the answer arrived. The first
   * renewal of such a lease could come too late. Throws the error of the cancellation. `now`: an instant that this
   * synchronous step has read.
   */
  isInTime(now?: Instant): boolean {
    if (this.#cancellation.isStopped) throw this.#cancellation.error();
    return this.deadline.remainingMs(now) > this.#settings.leaseMs * LEAST_PART_LEFT;
  }

  /** The deadline of the lease, after which the holder must not act. */
  get deadline(): Deadline {
    return new Deadline(this.#context.clock, this.#start, this.#lengthMs);
  }

  get #lengthMs(): number {
    return actingMs(this.#context, this.#settings.leaseMs);
  }
}
