import {
  type Backoff,
  type Call,
  type Clock,
  type NoAnswer,
  type ObjectPort,
  type Random,
  type RetryOptions,
  retry,
  sleep,
  type TablePort,
  type Timers,
  type Unanswered,
} from "holdfast/internal";
import type { CommitterSettings } from "./options.js";

/** The settings and services that the parts of one committer share. */
export interface CommitContext {
  readonly objects: ObjectPort;
  /** Undefined without a table. */
  readonly table: TablePort | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly settings: CommitterSettings;
}

/** The time limit of an operation, or of the lease of a record. */
export interface Limit {
  /** Milliseconds; 0 or less when the time is over, and after `signal` has aborted. */
  remainingMs(): number;
  readonly signal: AbortSignal | undefined;
}

/** The time limit of one operation. */
export class Patience implements Limit {
  readonly signal: AbortSignal | undefined;
  readonly #settings: CommitterSettings;
  readonly #clock: Clock;
  #startMs: number;
  #waitMs: number;

  constructor(context: CommitContext, signal: AbortSignal | undefined) {
    this.signal = signal;
    this.#settings = context.settings;
    const { waitMs, timeoutMs } = context.settings;
    this.#waitMs = waitMs === 0 ? timeoutMs : waitMs;
    this.#clock = context.clock;
    this.#startMs = context.clock.monotonicMs();
    signal?.throwIfAborted();
  }

  /** The length of the limit, in milliseconds. */
  get waitMs(): number {
    return this.#waitMs;
  }

  /** Whether the operation may wait for the record of another writer. */
  get waitsForOthers(): boolean {
    return this.#settings.waitMs > 0;
  }

  /** With `beyondLease`, extends the limit beyond the time for which a dead writer's record blocks the path. */
  outlast(recordTimeoutMs: number): void {
    const { beyondLeaseMs, maxClockSkewRate } = this.#settings;
    if (beyondLeaseMs === undefined) return;
    this.#waitMs = Math.max(this.#waitMs, recordTimeoutMs * maxClockSkewRate + beyondLeaseMs);
  }

  /**
   * Waits for what is no part of the operation, such as a probe of the store: if it succeeds, it takes no time from the
   * limit. An abort ends the wait: rejects with the signal's reason.
   */
  async apart<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this;
    signal?.throwIfAborted();
    const fromMs = this.#clock.monotonicMs();
    let onAbort = (): void => undefined;
    const aborted = new Promise<never>((_, reject) => {
      onAbort = () => reject(signal?.reason);
      signal?.addEventListener("abort", onAbort);
    });
    try {
      const result = await Promise.race([aborted, work()]);
      this.#startMs += this.#clock.monotonicMs() - fromMs;
      return result;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  remainingMs(): number {
    if (this.signal?.aborted === true) return 0;
    return this.#startMs + this.#waitMs - this.#clock.monotonicMs();
  }
}

/** Bounds a request by `mostMs` and by the limit. */
export function callWithin(limit: Limit, mostMs: number): Call {
  // Some Node versions refuse a timer with fractions, and a timer of 0 would fire before the send.
  const timeoutMs = Math.max(1, Math.ceil(Math.min(mostMs, limit.remainingMs())));
  return { timeoutMs, signal: limit.signal };
}

/** Bounds a request by its timeout alone: its answer matters even after the limit, or after the caller has aborted. */
export function callBeyond(context: CommitContext): Call {
  return { timeoutMs: context.settings.requestTimeoutMs };
}

/** Backs off with growing pauses. Each pause is random, between half of the current length and the whole. */
export class Pauses {
  readonly #context: CommitContext;
  readonly #limit: Limit;
  #nextMs: number;

  constructor(context: CommitContext, limit: Limit) {
    this.#context = context;
    this.#limit = limit;
    this.#nextMs = context.settings.pollMs;
  }

  /** Starts again with the shortest pause. */
  restart(): void {
    this.#nextMs = this.#context.settings.pollMs;
  }

  /** Returns the next pause, at most the rest of the limit. */
  readonly backoff: Backoff = (fraction) => {
    const drawnMs = this.#nextMs * (0.5 + fraction / 2);
    this.#nextMs = Math.min(this.#nextMs * 1.5, this.#context.settings.maxPollMs);
    return Math.max(0, Math.min(drawnMs, this.#limit.remainingMs()));
  };

  /** Waits for the next pause, at most `mostMs` and the rest of the limit. */
  async wait(mostMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { random, timers } = this.#context;
    const pauseMs = Math.min(this.backoff(random.fraction()), mostMs);
    await sleep(timers, pauseMs, true, this.#limit.signal);
  }
}

/** The result of attempts within a limit. */
type Within<A> =
  | { readonly kind: "answered"; readonly answer: A }
  | {
      /** The limit was over first. */
      readonly kind: "over";
      /** Undefined if the last attempt only asked for a retry. */
      readonly trouble: NoAnswer | undefined;
      /** Whether the limit ended every attempt too early to conclude that the service does not answer. */
      readonly isCutShort: boolean;
    };

// The service counts as unreachable only after this time without an answer. A shorter request at the end of a limit
// does not show whether the service answers.
const SILENCE_MS = 1_000;

/** Retries until an answer, or the end of the limit. Throws on a wrong configuration. */
export async function retryWithin<A extends { readonly kind: string }>(
  context: CommitContext,
  limit: Limit,
  attempt: () => Promise<A | Unanswered>,
  options: Partial<RetryOptions> = {},
): Promise<Within<Exclude<A, Unanswered>>> {
  const { backoff } = new Pauses(context, limit);
  const isOver = (): boolean => limit.remainingMs() <= 0;
  const how = { backoff, isOver, signal: limit.signal, ...options };
  let isCutShort = true;
  const timed = async (): Promise<A | Unanswered> => {
    const givenMs = limit.remainingMs();
    const answer = await attempt();
    isCutShort &&= givenMs < SILENCE_MS && isOver();
    return answer;
  };
  const retried = await retry(context, timed, how);
  if (retried.kind === "answered") return retried;
  return { kind: "over", trouble: retried.last as NoAnswer | undefined, isCutShort };
}
