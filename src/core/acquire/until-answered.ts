import { type NoAnswer, retry } from "../../platform/retry.js";
import type { Misconfigured, ReadAnswer, WriteAnswer } from "../../platform/table.js";
import { steady } from "../backoff.js";
import type { Cancelling } from "./cancellation.js";
import type { AcquireContext } from "./context.js";

/** How an acquisition retries a request. */
interface Asking {
  /** With 0, the acquisition makes one attempt. */
  readonly waitMs: number;
  readonly pauseMs: number;
  readonly cancellation: Cancelling;
}

/**
 * Sends a request until DynamoDB answers. Rejects with the error of the cancellation or of a wrong configuration. If
 * the caller allows no wait, rejects after one attempt.
 */
export async function untilAnswered<A extends ReadAnswer | WriteAnswer>(
  context: AcquireContext,
  { waitMs, pauseMs, cancellation }: Asking,
  ask: (timeoutMs: number) => Promise<A>,
): Promise<Exclude<A, NoAnswer | Misconfigured>> {
  if (cancellation.isStopped) throw cancellation.error();
  const { requestTimeoutMs } = context.settings;
  const retried = await retry(context, () => ask(requestTimeoutMs), {
    backoff: steady(pauseMs),
    isOver: () => cancellation.isStopped,
    signal: cancellation.signal,
    onNoAnswer: (answer) => {
      cancellation.onNoResponse(answer);
      if (waitMs === 0) throw cancellation.error();
    },
  });
  if (retried.kind !== "answered") throw cancellation.error();
  cancellation.onResponse();
  return retried.answer as Exclude<A, NoAnswer | Misconfigured>;
}
