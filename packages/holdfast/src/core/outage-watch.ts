import { HoldfastError } from "../errors.js";
import type { Denied } from "../platform/retry.js";
import type { Timer } from "../platform/timers.js";
import type { ClientContext } from "./context.js";
import { troubleOf, type Unavailable } from "./unavailable.js";

// Request timeouts may be far shorter; so short an outage is no news to a user.
const LEAST_OUTAGE_MS = 2_000;
const LONGEST_PAUSE_MS = 600_000;

/**
 * Tells the client's `onError` of an outage while a call waits: refused credentials at once, and otherwise when DynamoDB
 * has served no request for a request timeout after the first failure, so within two request timeouts; or, if it serves
 * others, with the second failure of an operation of which it has served none for as long. Tells of each outage once,
 * however many calls wait.
 */
export class OutageWatch {
  readonly #context: ClientContext;
  readonly #calledMs: number;
  #timer: Timer | undefined;
  #last: Unavailable | undefined;
  #sinceMs = 0;
  #failures = 0;
  /** Whether the time has passed after which the next failure tells. */
  #isDue = false;
  #toldKind: Unavailable["kind"] | undefined;
  #toldAtMs = 0;
  /** How long after the last word of an outage the next one may come. */
  #pauseMs = 0;
  #isOver = false;
  /** By operation, the last request that failed, unless DynamoDB has served one since. */
  readonly #failed = new Map<string | undefined, Unavailable>();
  /** What DynamoDB refused since it last served a request of the call. */
  readonly #denied = new Set<string>();

  /** `calledMs`: when the call began to wait; by default, only its own failures count. */
  constructor(context: ClientContext, calledMs = Number.POSITIVE_INFINITY) {
    this.#context = context;
    this.#calledMs = calledMs;
  }

  /** The call calls this after a request that DynamoDB served. */
  onResponse(): void {
    this.#cancelTimer();
    const { outages } = this.#context;
    for (const [operation, failed] of this.#failed)
      if (outages.unservedSinceMs(failed) === undefined) this.#failed.delete(operation);
    this.#toldKind = undefined;
    this.#isDue = false;
    this.#denied.clear();
    // Another operation was served: writes alone may fail for hours, while the call's reads are served.
    if (this.#failed.size === 0) this.#last = undefined;
  }

  /** The call calls this after a request that DynamoDB did not serve. */
  onNoResponse(unavailable: Unavailable): void {
    const { kind } = unavailable;
    // Other clients write to one record, or this client has too many requests: the table is well.
    if (kind === "conflict" || kind === "queued" || this.#isOver) return;
    if (kind === "unknown" && unavailable.isCutOff) return;
    if (this.#last === undefined) {
      // Requests of other calls, and those that several calls share, may have failed before.
      const nowMs = this.#context.nowMs();
      const { silentSinceMs = nowMs } = this.#context.outages;
      this.#sinceMs = Math.min(nowMs, Math.max(silentSinceMs, this.#calledMs));
      this.#failures = 0;
    }
    this.#last = unavailable;
    this.#failures += 1;
    if (kind === "denied") {
      this.#onDenied(unavailable);
      return;
    }
    this.#failed.set(this.#context.outages.operationOf(unavailable), unavailable);
    if (this.#isUnserved(unavailable)) this.#tell();
    else if (kind === this.#toldKind) return;
    else if (this.#isDue) this.#tell();
    else if (this.#timer === undefined) {
      const passedMs = this.#context.nowMs() - this.#sinceMs;
      this.#setTimer(Math.max(0, this.#leastMs - passedMs));
    }
  }

  #onDenied(unavailable: Unavailable): void {
    const key = this.#context.outages.keyOf(unavailable);
    if (this.#denied.has(key)) return;
    this.#denied.add(key);
    this.#tell();
  }

  /** Whether the operation was served for no call for so long, while this call waited, and it did not tell yet. */
  #isUnserved(unavailable: Unavailable): boolean {
    const nowMs = this.#context.nowMs();
    const unservedMs = this.#context.outages.unservedSinceMs(unavailable) ?? nowMs;
    // A table that refuses every operation is one outage, told once; silence is compared with what others told of.
    const isSameSilence = unavailable.kind !== "unknown" || unservedMs <= this.#toldAtMs;
    const wasTold = unavailable.kind === this.#toldKind && isSameSilence;
    const sinceMs = Math.max(unservedMs, this.#sinceMs);
    return !wasTold && nowMs - sinceMs >= this.#leastMs;
  }

  /** The call does not wait any more: tells nothing from now on. */
  dispose(): void {
    this.#isOver = true;
    this.#cancelTimer();
  }

  #cancelTimer(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  get #leastMs(): number {
    return Math.max(this.#context.settings.requestTimeoutMs, LEAST_OUTAGE_MS);
  }

  #setTimer(delayMs: number): void {
    this.#timer = this.#context.timers.set(delayMs, false, this.#onTimer);
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    const leftMs = this.#fromMs + this.#leastMs - this.#context.nowMs();
    // Other requests of this client were answered meanwhile.
    if (leftMs > 0) this.#setTimer(leftMs);
    // A single refused request is no outage, and one that another call has told of may be over: the next failure tells.
    else if (
      this.#last?.kind === "unknown" ||
      (this.#failures > 1 && this.#context.outages.toldMs < this.#sinceMs)
    )
      this.#tell();
    else this.#isDue = true;
  };

  get #fromMs(): number {
    if (this.#last?.kind !== "unknown") return this.#sinceMs;
    const { outages } = this.#context;
    return Math.max(this.#sinceMs, outages.silentSinceMs ?? this.#context.nowMs());
  }

  #tell(): void {
    const { outages, tableName } = this.#context;
    const last = this.#last;
    if (last === undefined) return;
    const nowMs = this.#context.nowMs();
    const { kind } = last;
    // One record may be silent for hours, while those of others are served every few seconds.
    if (kind !== "denied" && nowMs - this.#toldAtMs < this.#pauseMs) return;
    const isWhole = kind === "unknown" && nowMs - this.#fromMs >= this.#leastMs;
    const isNews = outages.isNews(last, nowMs, isWhole);
    // An operation that has been silent for long may be the first that shows a new silence of the whole table.
    if (!isNews && !isWhole && kind === "unknown") return;
    const isAgain = kind === this.#toldKind || nowMs - this.#toldAtMs <= 3 * this.#pauseMs;
    this.#toldKind = kind;
    this.#toldAtMs = nowMs;
    if (!isNews) return;
    // Only words of one outage, or soon after each other, become rare: another outage is told as soon as the first.
    if (kind !== "denied")
      this.#pauseMs = Math.min(LONGEST_PAUSE_MS, (isAgain && 2 * this.#pauseMs) || this.#leastMs);
    const what = isWhole ? undefined : outages.operationOf(last);
    const sinceMs = isWhole ? this.#fromMs : this.#sinceMs;
    this.#context.report(outageError(tableName, last, nowMs - sinceMs, what));
  }
}

const RETRIED = "Calls and releases are retried.";

/**
 * Tells the client's `onError` that DynamoDB refused the credentials of a release or a call, once for each outage. Returns
 * whether it did.
 */
export function tellOfRefusal(context: ClientContext, denied: Denied): boolean {
  const isNews = context.outages.isNews(denied, context.nowMs());
  if (isNews) context.report(outageError(context.tableName, denied, 0));
  return isNews;
}

/** Returns the error for `onError`. It is not about a single lock, so it has no `lockName`. */
function outageError(
  table: string,
  unavailable: Unavailable,
  lastedMs: number,
  what = "request",
): HoldfastError {
  const { kind, cause } = unavailable;
  if (kind === "denied") {
    return new HoldfastError(cause.code, `${cause.message} ${RETRIED}`, {
      cause: cause.cause ?? cause,
    });
  }
  const { code, why, advice } = troubleOf(unavailable);
  return new HoldfastError(
    code,
    `Table "${table}" has served no ${what} of a waiting call for ${Math.round(lastedMs)} ms: ${why}. ${RETRIED} ${advice}`,
    { cause },
  );
}
