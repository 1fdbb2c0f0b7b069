import { type HoldfastError, isHoldfastError } from "../errors.js";
import type { ClientContext } from "./context.js";
import { tellOfRefusal } from "./outage-watch.js";
import { isOutageError } from "./unavailable.js";

/** How a call tells. */
export interface Telling {
  /** Tells the client's `onError`; by default, with the error as it is. */
  readonly report?: (error: unknown) => void;
  /** How many attempts in a row an outage must fail, and for how long, before it is told: one by default. */
  readonly tries?: number;
  readonly lastsMs?: number;
}

/**
 * Tells the client's `onError` why a call, made again and again, fails as a whole: once, until an attempt has worked or failed
 * otherwise, and not of an outage of which it has heard already. A watch of outages sees the requests, and cannot tell of
 * those that are answered too late.
 */
export class FailingCall {
  readonly #context: ClientContext;
  readonly #telling: Telling;
  /** The code of the last failure; one for all outages. */
  #code: unknown;
  #sinceMs = 0;
  #tries = 0;
  #isTold = false;

  constructor(context: ClientContext, telling: Telling = {}) {
    this.#context = context;
    this.#telling = telling;
  }

  /** An attempt worked: the next failure is another one. */
  onSuccess(): void {
    this.#tries = 0;
  }

  /** An attempt that began at `fromMs` failed. Returns whether `onError` received this error. */
  onFailure(error: unknown, fromMs = this.#context.nowMs()): boolean {
    const isOutage = isOutageError(error);
    const code = isOutage ? "outage" : isHoldfastError(error) ? error.code : error;
    if (this.#tries === 0 || code !== this.#code) {
      this.#code = code;
      this.#sinceMs = fromMs;
      this.#tries = 0;
      this.#isTold = false;
    }
    this.#tries += 1;
    if (this.#isTold || (isOutage && !this.#isOutageNews(error))) return false;
    this.#isTold = true;
    if (isHoldfastError(error) && this.#context.mayHeal(error))
      return tellOfRefusal(this.#context, { kind: "denied", cause: error });
    const { report } = this.#telling;
    if (report === undefined) this.#context.report(error as HoldfastError);
    else report(error);
    return true;
  }

  #isOutageNews({ code, cause }: HoldfastError): boolean {
    const { outages } = this.#context;
    const nowMs = this.#context.nowMs();
    const { tries = 1, lastsMs = 0 } = this.#telling;
    const isLong = this.#tries >= tries && nowMs - this.#sinceMs >= lastsMs;
    if (!isLong) return false;
    const refused = { kind: "throttled", cause } as const;
    // The outage of one operation: another call may have told of it before this one began. What was told since may be that
    // of another operation, and would leave this one untold.
    const isOther = code !== "throttled" || outages.unservedSinceMs(refused) === undefined;
    if (isOther) return outages.isNewsSince(this.#sinceMs, nowMs);
    return outages.isNews(refused, nowMs);
  }
}
