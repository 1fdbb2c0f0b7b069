import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import type { Term, TermOf } from "./term.js";

/** What runs while a candidate leads. The signal is the term's own. */
export type LeaderBody<S extends FormatTypes = NativeTypes> = (
  signal: AbortSignal,
  term: TermOf<S>,
) => unknown;

/** A candidate that leads, or stands by to, until its client closes. */
export interface Leading {
  /** Settles once it has stopped; never rejects. */
  readonly ended: Promise<unknown>;
  /** Ends its term in this process alone, where the body goes on in spite of everything. */
  forsake(): void;
}

/**
 * Runs the body under a term, and releases the term after it has ended, however it ends. Rejects with
 * the body's error, unless the body had been told to end.
 */
export async function govern(
  term: Term,
  ending: AbortSignal,
  body: LeaderBody,
  report: (cause: unknown) => void,
): Promise<void> {
  const { signal } = term;
  const end = (): void => term.end("its candidate stops");
  ending.addEventListener("abort", end, { once: true });
  if (ending.aborted) end();
  const running = run(body, signal, term);
  term.occupy(running);
  try {
    await running;
  } catch (error) {
    if (!signal.aborted) throw error;
    if (!isConsequence(error, signal)) report(error);
  } finally {
    ending.removeEventListener("abort", end);
    await term[Symbol.asyncDispose]();
  }
}

// A body that throws at once fails like one that rejects.
async function run(body: LeaderBody, signal: AbortSignal, term: Term): Promise<void> {
  await body(signal, term);
}

/** Whether a body that was told to end has failed by doing so. */
export function isConsequence(error: unknown, signal: AbortSignal): boolean {
  if (error === signal.reason) return true;
  return error instanceof Error && error.name === "AbortError";
}
