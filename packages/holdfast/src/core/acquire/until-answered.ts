import { type Backoff, isNoAnswer, type NoAnswer, retry } from "../../platform/retry.js";
import type { Misconfigured, ReadAnswer, WriteAnswer } from "../../platform/table.js";
import { doubling } from "../backoff.js";
import type { AcquireSettings, Acquisition } from "./settings.js";

/** How an acquisition retries a request. */
interface Asking {
  /** The first pause before a retry. */
  readonly pauseMs: number;
  /** Whether DynamoDB did not answer a grant for half of a lease: the first pause is then the longest. */
  readonly afterSilence?: boolean;
  /** The pauses. Default: they grow with the outage. */
  readonly backoff?: Backoff;
}

// Pauses grow with the outage, so that the waiters of a large fleet come back over half a lease, and not in one second:
// during this time the fleet renews each of its leases about once anyway.
const LONGEST_PART_OF_LEASE = 1 / 2;
// A waiter with a limit still sends several requests within its wait.
const LONGEST_PART_OF_WAIT = 1 / 4;

/**
 * Returns the longest pause of a waiter between two requests that DynamoDB does not answer, in milliseconds. `leastMs`: a
 * pause that is never too long.
 */
export function longestPauseMs(
  { waitMs, leaseMs }: Pick<AcquireSettings, "waitMs" | "leaseMs">,
  leastMs: number,
): number {
  return Math.max(
    Math.min(leaseMs * LONGEST_PART_OF_LEASE, waitMs * LONGEST_PART_OF_WAIT),
    leastMs,
  );
}

/**
 * Tells an acquisition whether DynamoDB served a request, and returns the answer if so. Throws the error of a wrong
 * configuration, unless the caller waits and the error may heal.
 */
export function unlessUnserved<A extends { readonly kind: string }>(
  { context, cancellation }: Pick<Acquisition, "context" | "cancellation">,
  sent: A,
): Exclude<A, NoAnswer | Misconfigured> | undefined {
  const answer = context.unlessLasting(sent, cancellation.waits);
  if (isNoAnswer(answer)) return void cancellation.onNoResponse(answer);
  cancellation.onResponse();
  return answer as Exclude<A, NoAnswer | Misconfigured>;
}

/**
 * Sends a request until DynamoDB answers. Rejects with the error of the cancellation or of a wrong configuration. If
 * the caller allows no wait, rejects after one attempt.
 */
export async function untilAnswered<A extends ReadAnswer | WriteAnswer>(
  { context, settings, cancellation }: Acquisition,
  asking: Asking,
  ask: () => Promise<A>,
): Promise<Exclude<A, NoAnswer | Misconfigured>> {
  const { pauseMs } = asking;
  if (cancellation.isStopped) throw cancellation.error();
  const longestMs = longestPauseMs(settings, pauseMs);
  const growing = doubling(asking.afterSilence === true ? longestMs : pauseMs, longestMs);
  const attempt = async () => context.unlessLasting(await ask(), cancellation.waits);
  const retried = await retry(context, attempt, {
    backoff: context.patient(asking.backoff ?? growing),
    isOver: () => cancellation.isStopped,
    signal: cancellation.signal,
    onNoAnswer: (answer) => {
      cancellation.onNoResponse(answer);
      if (settings.waitMs === 0) throw cancellation.error();
    },
  });
  if (retried.kind !== "answered") throw cancellation.error();
  cancellation.onResponse();
  return retried.answer as Exclude<A, NoAnswer | Misconfigured>;
}

/** When a waiter that polls meanwhile sends a request again that DynamoDB did not serve. The pauses grow with the outage. */
export class Retries {
  readonly #context: Acquisition["context"];
  readonly #backoff: Backoff;
  #dueMs = Number.NEGATIVE_INFINITY;

  constructor({ context, settings }: Pick<Acquisition, "context" | "settings">) {
    this.#context = context;
    this.#backoff = doubling(settings.retryMs, longestPauseMs(settings, settings.retryMs));
  }

  get isDue(): boolean {
    return this.#context.nowMs() >= this.#dueMs;
  }

  putOff(): void {
    this.#dueMs = this.#context.nowMs() + this.#backoff(this.#context.random.fraction());
  }
}
