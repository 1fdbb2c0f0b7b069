import { isHoldfastError } from "holdfast";
import type { Call, Misconfigured, Unknown } from "holdfast/internal";

/** Returns the answer to a call whose signal has already aborted; undefined for any other call. */
export function abortedAnswer(call: Call): Unknown | undefined {
  return call.signal?.aborted ? { kind: "unknown", cause: call.signal.reason } : undefined;
}

/** Converts exceptions to answers, because the port promises never to throw. */
export function answerOrMisconfigured<A>(answer: () => A): A | Misconfigured {
  try {
    return answer();
  } catch (error) {
    if (isHoldfastError(error)) return { kind: "misconfigured", error };
    throw error;
  }
}

/** Returns the `Date` of an answer: a clock in whole seconds. */
export function dateOf(serverMs: number | undefined): number | undefined {
  return serverMs === undefined ? undefined : Math.floor(serverMs / 1000) * 1000;
}
