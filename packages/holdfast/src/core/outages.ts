import type { HoldfastError } from "../errors.js";
import { isNoAnswer } from "../platform/retry.js";
import type { Unavailable } from "./unavailable.js";

/** What a request did, and about which kind of record, if a policy often refuses this kind alone. */
export interface Operation {
  readonly operation: string;
  readonly about?: string | undefined;
}

/**
 * Remembers which outages the client's `onError` has received. A policy, a capacity or a failure may spare some operations, so
 * an outage is one of an operation, and ends with a request of it that DynamoDB serves.
 */
export class Outages {
  /** What each request without a result did, by the answer, by the error in it, and by the cause of either. */
  readonly #failed = new WeakMap<object, Operation>();
  /** Since when DynamoDB has served no request of an operation, by the monotonic clock. */
  readonly #unservedSinceMs = new Map<string, number>();
  readonly #told = new Set<string>();
  /** Whether `onError` has received that no request is answered, and none was since. */
  #isSilenceTold = false;
  #wasServed = false;
  #toldMs = 0;
  #silentSinceMs: number | undefined;

  /** Whether DynamoDB has ever served a request of this client. */
  get wasServed(): boolean {
    return this.#wasServed;
  }

  /** When `onError` last received an outage that no permission explains, by the monotonic clock. */
  get toldMs(): number {
    return this.#toldMs;
  }

  /** When the first request since the last answer failed, by the monotonic clock; undefined if none has. */
  get silentSinceMs(): number | undefined {
    return this.#silentSinceMs;
  }

  /** Notes the answer to a request, or that it has none. */
  see(
    done: Operation,
    answer: { readonly kind: string; readonly error?: HoldfastError },
    nowMs: () => number,
  ): void {
    if (answer.kind === "unknown") this.#silentSinceMs ??= nowMs();
    else {
      this.#silentSinceMs = undefined;
      this.#isSilenceTold = false;
    }
    const { operation } = done;
    const failure = isNoAnswer(answer) ? answer : answer.error;
    if (failure === undefined) {
      this.#wasServed = true;
      if (this.#unservedSinceMs.delete(operation))
        for (const kind of TOLD_KINDS) this.#told.delete(`${kind} ${operation}`);
      this.#told.delete(deniedKey(done));
      return;
    }
    this.#failed.set(failure, done);
    if (failure.cause instanceof Error) this.#failed.set(failure.cause, done);
    if (!this.#unservedSinceMs.has(operation)) this.#unservedSinceMs.set(operation, nowMs());
  }

  /**
   * Whether `onError` has not received this outage yet. Then notes that it has. `isWhole`: no request at all is answered,
   * which is one outage, whatever the requests were.
   */
  isNews(unavailable: Unavailable, nowMs: number, isWhole = false): boolean {
    const keys = isWhole
      ? [...this.#unservedSinceMs.keys()].map((operation) => `unknown ${operation}`)
      : [this.keyOf(unavailable)];
    const isOther = keys.some((key) => !this.#told.has(key));
    const isNew = isOther && !(isWhole && this.#isSilenceTold);
    for (const key of keys) this.#told.add(key);
    if (isWhole) this.#isSilenceTold = true;
    if (isNew && unavailable.kind !== "denied") this.#toldMs = nowMs;
    return isNew;
  }

  /** Whether `onError` has received no outage since `sinceMs`, nor the silence that lasts. Then notes that it does now. */
  isNewsSince(sinceMs: number, nowMs: number): boolean {
    if (this.#toldMs >= sinceMs || this.#isSilenceTold) return false;
    this.#toldMs = nowMs;
    // A call that waits must not tell of the same silence again.
    this.#isSilenceTold = (this.#silentSinceMs ?? Number.POSITIVE_INFINITY) <= sinceMs;
    return true;
  }

  /** Since when DynamoDB has served no request of the operation of this one; undefined if it has since. */
  unservedSinceMs(unavailable: Unavailable): number | undefined {
    return this.#unservedSinceMs.get(this.operationOf(unavailable) ?? "");
  }

  /** The operation of a request without a result. */
  operationOf(unavailable: Unavailable): string | undefined {
    return this.#doneBy(unavailable)?.operation;
  }

  /** What of an outage is told once. */
  keyOf(unavailable: Unavailable): string {
    const done = this.#doneBy(unavailable);
    if (unavailable.kind === "denied") return deniedKey(done);
    return `${unavailable.kind === "unknown" ? "unknown" : "throttled"} ${done?.operation}`;
  }

  #doneBy(unavailable: Unavailable): Operation | undefined {
    // An error that says what was prevented, such as the opening of a session, has that of the request as its cause.
    const { cause } = unavailable as { readonly cause: object };
    const of = this.#failed;
    return of.get(unavailable) ?? of.get(cause) ?? of.get(Object(cause).cause);
  }
}

const TOLD_KINDS = ["unknown", "throttled"] as const;

function deniedKey(done: Operation | undefined): string {
  return `denied ${done?.operation} ${done?.about}`;
}
