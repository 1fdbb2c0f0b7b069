import type { HeldLease, Lease } from "../core/hold/lease.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { onAbort } from "../platform/abort.js";
import type { Term } from "./term.js";

/** The work of a leader. Must end when the signal of the lease aborts. */
export type LeaderBody<S extends FormatTypes = NativeTypes> = (lease: Lease<S>) => unknown;

/**
 * Runs the body during a term, and releases the term after the body has ended.
 *
 * Rejects with the body's error, unless the signal had aborted before.
 */
export async function govern(
  term: Term,
  ending: AbortSignal,
  body: LeaderBody,
  report: (cause: unknown) => void,
): Promise<void> {
  const { signal } = term;
  const forget = onAbort(ending, () => term.end("its candidate stops"));
  const running = run(body, term);
  term.occupy(running);
  try {
    await running;
  } catch (error) {
    if (!signal.aborted) throw error;
    if (!isConsequence(error, signal)) report(error);
  } finally {
    forget();
    await term[Symbol.asyncDispose]();
  }
}

// Turns a synchronous throw of the body into a rejection.
async function run(body: LeaderBody, term: Term): Promise<void> {
  await body(term as HeldLease as unknown as Lease);
}

/** Whether the error of a body only repeats the abort of its signal. */
export function isConsequence(error: unknown, signal: AbortSignal): boolean {
  if (error === signal.reason) return true;
  return error instanceof Error && error.name === "AbortError";
}
