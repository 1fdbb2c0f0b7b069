import { HoldfastError } from "../errors.js";
import type { Denied } from "../platform/retry.js";
import type { Timer } from "../platform/timers.js";
import type { ClientContext } from "./context.js";
import { troubleOf, type Unavailable } from "./unavailable.js";

// Request timeouts may be far shorter; so short an outage is no news to a user.
const LEAST_OUTAGE_MS = 2_000;

/**
 * Tells the client's `onError` of an outage while a call waits: refused credentials at once, and otherwise when DynamoDB
 * has served no request for a request timeout after the first failure, so within two request timeouts. Tells of each
 * outage once, however many calls wait.
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
  #isOver = false;
  /** The operations that DynamoDB refused since it last served a request of the call. */
  readonly #denied = new Set<string | undefined>();

  /** `calledMs`: when the call began to wait; by default, only its own failures count. */
  constructor(context: ClientContext, calledMs = Number.POSITIVE_INFINITY) {
    this.#context = context;
    this.#calledMs = calledMs;
  }

  /** The call calls this after a request that DynamoDB served. */
  onResponse(): void {
    if (this.#last === undefined) return;
    this.#cancelTimer();
    this.#last = undefined;
    this.#denied.clear();
    this.#toldKind = undefined;
    this.#isDue = false;
  }

  /** The call calls this after a request that DynamoDB did not serve. */
  onNoResponse(unavailable: Unavailable): void {
    const { kind } = unavailable;
    // Other clients write to one record, or this client has too many requests: the table is well.
    if (kind === "conflict" || kind === "queued" || this.#isOver) return;
    if (kind === "unknown" && unavailable.isCutOff) return;
    if (this.#last === undefined || this.#wasAnotherOutage) {
      // Requests of other calls, and those that several calls share, may have failed before.
      const nowMs = this.#context.nowMs();
      const silentSinceMs = kind === "unknown" ? this.#context.outages.silentSinceMs : undefined;
      this.#sinceMs = Math.min(nowMs, Math.max(silentSinceMs ?? nowMs, this.#calledMs));
      this.#failures = 0;
      this.#toldKind = undefined;
      this.#isDue = false;
    }
    this.#last = unavailable;
    this.#failures += 1;
    if (kind === "denied") this.#onDenied(unavailable);
    else if (kind === this.#toldKind) return;
    else if (this.#isDue) this.#tell();
    else if (this.#timer === undefined) {
      const passedMs = this.#context.nowMs() - this.#sinceMs;
      this.#setTimer(Math.max(0, this.#leastMs - passedMs));
    }
  }

  #onDenied(unavailable: Unavailable): void {
    const operation = this.#context.outages.operationOf(unavailable);
    if (this.#denied.has(operation)) return;
    this.#denied.add(operation);
    this.#tell();
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

  /** Whether this client was answered after it told of a table without answers: this call's requests were not. */
  get #wasAnotherOutage(): boolean {
    return this.#toldKind === "unknown" && this.#context.lastAnswerMs > this.#toldAtMs;
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
    return this.#last?.kind === "unknown"
      ? Math.max(this.#sinceMs, this.#context.lastAnswerMs)
      : this.#sinceMs;
  }

  #tell(): void {
    const { outages, tableName } = this.#context;
    if (this.#last === undefined) return;
    this.#toldKind = this.#last.kind;
    this.#toldAtMs = this.#context.nowMs();
    if (!outages.isNews(this.#last, this.#toldAtMs)) return;
    this.#context.report(outageError(tableName, this.#last, this.#context.nowMs() - this.#fromMs));
  }
}

const RETRIED = "Calls and releases are retried.";

/** Tells the client's `onError` that DynamoDB refused the credentials of a release, once for each outage. */
export function tellOfRefusal(context: ClientContext, denied: Denied): void {
  if (context.outages.isNews(denied, context.nowMs()))
    context.report(outageError(context.tableName, denied, 0));
}

/** Returns the error for `onError`. It is not about a single lock, so it has no `lockName`. */
function outageError(table: string, unavailable: Unavailable, lastedMs: number): HoldfastError {
  const { kind, cause } = unavailable;
  if (kind === "denied") {
    return new HoldfastError(cause.code, `${cause.message} ${RETRIED}`, {
      cause: cause.cause ?? cause,
    });
  }
  const { code, why, advice } = troubleOf(unavailable);
  return new HoldfastError(
    code,
    `Table "${table}" has served no request of a waiting call for ${Math.round(lastedMs)} ms: ${why}. ${RETRIED} ${advice}`,
    { cause },
  );
}
