/** A formula of SMT-LIB, as text. */
type Term = string;

/** The facts of clocks.mjs whose lengths packages/holdfast/src/core/record/decide.ts computes. */
interface Measured {
  counts(fact: { until: Term; from: Term; length: Term; clocks: readonly Term[] }): Term;
  isWatched(fact: { now: Term; from: Term; length: Term; waited: Term }): Term;
}

export function measuredWith(drift: Term): Measured;
