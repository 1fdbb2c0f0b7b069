import { expect } from "vitest";
import type { ErrorCode, HoldfastError, LossReason } from "../../packages/holdfast/src/index.js";

/**
 * The facts about an error that a test may assert: what callers rely on, and facts of the message. No sentence.
 */
export interface ExpectedError {
  readonly code: ErrorCode;
  /** The lock's name, in the error and in its message; undefined for an error without a lock. */
  readonly lockName?: string;
  /** With code `lost`. */
  readonly reason?: LossReason;
  /**
   * Facts of the message: a holder's label, a number, an option's name. A text must appear as a whole word.
   */
  readonly mentions?: readonly (string | RegExp)[];
  /** Facts of another error with the same code, which the message must not contain. */
  readonly omits?: readonly (string | RegExp)[];
}

/** Matches a text as a whole word: "5 ms" is not part of "15 ms". */
function patternOf(fact: string | RegExp): RegExp {
  if (fact instanceof RegExp) return fact;
  const escaped = fact.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?<![\\w.-])${escaped}(?![\\w-])`);
}

/** Fails unless the error matches. */
export function expectErrorToBe(error: unknown, expected: ExpectedError): void {
  const { code, lockName, reason, mentions = [], omits = [] } = expected;
  expect(error).toMatchObject({ name: "HoldfastError", code, lockName, reason });
  const { message } = error as HoldfastError;
  if (lockName !== undefined) expect(message).toContain(`"${lockName}"`);
  for (const fact of mentions) expect(message).toMatch(patternOf(fact));
  for (const fact of omits) expect(message).not.toMatch(patternOf(fact));
}

/** Fails unless the promise rejects with this error; resolves to the error. */
export async function expectError(
  promise: Promise<unknown>,
  expected: ExpectedError,
): Promise<HoldfastError> {
  const outcome = await promise.then(
    () => ({ error: undefined }),
    (error: unknown) => ({ error }),
  );
  expectErrorToBe(outcome.error, expected);
  return outcome.error as HoldfastError;
}

/** Fails unless the function throws this error at once; answers the error. */
export function expectThrown(run: () => unknown, expected: ExpectedError): HoldfastError {
  let thrown: unknown;
  try {
    run();
  } catch (error) {
    thrown = error;
  }
  expectErrorToBe(thrown, expected);
  return thrown as HoldfastError;
}
