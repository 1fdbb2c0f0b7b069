import type { HoldfastError } from "../errors.js";
import { sleep } from "../internal/sleep.js";
import type { SignalLike } from "./abort.js";
import type { Random } from "./random.js";
import type { Misconfigured, NotNow, Unknown } from "./table.js";
import type { Timers } from "./timers.js";

/**
 * Only this file decides how a caller goes on after a request that was not answered, or that the service declined for
 * now. Every loop that sends a request until the service answers calls {@link retry}.
 */

/**
 * DynamoDB refused the credentials or the permission of a request whose caller waits. Credentials expire and are
 * replaced, and policies are corrected, so the caller retries until the end of its wait. For a caller without a wait, the
 * same answer is a wrong configuration.
 */
export interface Denied {
  readonly kind: "denied";
  /** The error for the caller, if the wait ends with this answer. */
  readonly cause: HoldfastError;
}

/** The outcome of the request is unknown, or the service declined the request for now. */
export type NoAnswer = Unknown | NotNow | Denied;

/** The attempt was answered, and the answer asks for another attempt after a pause. */
export interface Again {
  readonly kind: "again";
}

/** An attempt returns this if the answer asks for another attempt. */
export const AGAIN: Again = Object.freeze({ kind: "again" });

/** The results of an attempt that `retry` does not return as the answer. */
export type Unanswered = NoAnswer | Misconfigured | Again;

/** Returns the length of the next pause, in milliseconds. `retry` passes a random fraction between 0 and 1. */
export type Backoff = (fraction: number) => number;

/** The timers for the pauses, and the random numbers for their lengths. The context of a client has both. */
interface RetryEnvironment {
  readonly timers: Timers;
  readonly random: Random;
}

export interface RetryOptions {
  readonly backoff: Backoff;
  /** `retry` calls this after each pause. True: it is too late for another attempt. Default: never too late. */
  readonly isOver?: () => boolean;
  /** An abort ends a pause, and then the loop. An abort during an attempt ends the loop after this attempt. */
  readonly signal?: SignalLike | undefined;
  /** `retry` calls this after each attempt without an answer. If this throws, the loop ends with that error. */
  readonly onNoAnswer?: (answer: NoAnswer) => void;
  /**
   * What `retry` does about a wrong configuration.
   * - `"throw"`, the default: `retry` throws the error at once.
   * - `"retry"`: `retry` tries again, because an operator can correct the configuration before the deadline.
   * - `"end"`: the loop ends, and `last` is the wrong configuration.
   */
  readonly onMisconfigured?: "throw" | "retry" | "end";
  /** Whether a pause keeps the process alive. Default true. */
  readonly keepsAlive?: boolean;
}

/** How a loop ended. `last` is the result of the last attempt; undefined if the result was only {@link AGAIN}. */
type Retried<A> =
  | { readonly kind: "answered"; readonly answer: A }
  | { readonly kind: "over" | "aborted"; readonly last: NoAnswer | Misconfigured | undefined };

/**
 * Makes attempts, with pauses, until one is answered. Makes at least one attempt. Checks the signal and `isOver` after
 * each pause.
 */
export async function retry<A extends { readonly kind: string }>(
  { timers, random }: RetryEnvironment,
  attempt: () => Promise<A | Unanswered> | A | Unanswered,
  options: RetryOptions,
): Promise<Retried<Exclude<A, Unanswered>>> {
  const { backoff, signal, onMisconfigured = "throw", keepsAlive = true } = options;
  for (;;) {
    const answer = await attempt();
    if (!isUnanswered(answer))
      return { kind: "answered", answer: answer as Exclude<A, Unanswered> };
    const last = answer.kind === "again" ? undefined : answer;
    if (last?.kind === "misconfigured") {
      if (onMisconfigured === "throw") throw last.error;
      if (onMisconfigured === "end") return { kind: "over", last };
    } else if (last !== undefined) {
      options.onNoAnswer?.(last);
    }
    await sleep(timers, backoff(random.fraction()), keepsAlive, signal);
    if (signal?.aborted === true) return { kind: "aborted", last };
    if (options.isOver?.() === true) return { kind: "over", last };
  }
}

const NO_ANSWER: readonly string[] = [
  "unknown",
  "throttled",
  "conflict",
  "skewed",
  "denied",
] satisfies NoAnswer["kind"][];

/** Whether the outcome of the request is unknown, or the service declined the request for now. */
export function isNoAnswer(answer: { readonly kind: string }): answer is NoAnswer {
  return NO_ANSWER.includes(answer.kind);
}

function isUnanswered(answer: { readonly kind: string }): answer is Unanswered {
  return isNoAnswer(answer) || isMisconfigured(answer) || answer.kind === "again";
}

/** Why a request was not answered, for the `cause` of an error. */
export function causeOf(last: NoAnswer | Misconfigured | undefined): unknown {
  return last?.kind === "misconfigured" ? last.error : last?.cause;
}

/** Returns the answer to a request that the caller sends only once. Throws the error of a wrong configuration. */
export function unlessMisconfigured<A extends { readonly kind: string }>(
  answer: A | Misconfigured,
): Exclude<A, Misconfigured> {
  if (isMisconfigured(answer)) throw answer.error;
  return answer as Exclude<A, Misconfigured>;
}

function isMisconfigured(answer: { readonly kind: string }): answer is Misconfigured {
  return answer.kind === "misconfigured";
}
