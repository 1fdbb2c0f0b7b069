import type { HoldfastError } from "../errors.js";
import { isNoAnswer } from "../platform/retry.js";
import type { Unavailable } from "./unavailable.js";

/** Remembers which outages the client's `onError` has received. An outage ends with a request that DynamoDB serves. */
export class Outages {
  /** The operation of each request that was refused, by the answer, or by the error in it. */
  readonly #refused = new WeakMap<object, string>();
  readonly #told = new Set<string>();
  #wasServed = false;
  #toldMs = -1;
  #silentSinceMs: number | undefined;

  /** Whether DynamoDB has ever served a request of this client. */
  get wasServed(): boolean {
    return this.#wasServed;
  }

  /** When `onError` last received an outage, by the monotonic clock. */
  get toldMs(): number {
    return this.#toldMs;
  }

  /** When the first request since the last answer failed, by the monotonic clock; undefined if none has. */
  get silentSinceMs(): number | undefined {
    return this.#silentSinceMs;
  }

  /** Notes the answer to a request, or that it has none. */
  see(
    operation: string,
    answer: { readonly kind: string; readonly error?: HoldfastError },
    nowMs: () => number,
  ): void {
    if (answer.kind === "unknown") {
      this.#silentSinceMs ??= nowMs();
      return;
    }
    this.#silentSinceMs = undefined;
    if (this.#told.size > 0) this.#told.delete("unknown");
    if (isNoAnswer(answer)) this.#refused.set(answer, operation);
    else if (answer.error !== undefined) this.#refused.set(answer.error, operation);
    else {
      this.#wasServed = true;
      if (this.#told.size > 0) this.#told.delete(`denied ${operation}`);
      if (this.#told.size > 0) this.#told.delete(`throttled ${operation}`);
    }
  }

  /**
   * Whether `onError` has not received this outage yet. Then notes that it has. An outage without answers is one of all
   * requests; a refusal is one of the requests of its operation about its
   * kind of record, because a policy or a capacity may allow the others.
   */
  isNews(unavailable: Unavailable, nowMs: number): boolean {
    const { kind } = unavailable;
    const operation = this.operationOf(unavailable);
    const key =
      kind === "unknown" ? kind : `${kind === "denied" ? kind : "throttled"} ${operation}`;
    if (this.#told.has(key)) return false;
    this.#told.add(key);
    this.#toldMs = nowMs;
    return true;
  }

  /** The operation of a refused request. */
  operationOf(unavailable: Unavailable): string | undefined {
    const { kind, cause } = unavailable;
    return this.#refused.get(kind === "denied" ? cause : unavailable);
  }
}
