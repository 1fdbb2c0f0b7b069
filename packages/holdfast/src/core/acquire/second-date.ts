import type { Decision } from "../record/decide.js";
import type { RecordRef } from "../record/format.js";
import type { AcquireContext } from "./context.js";

// Of two successive answers one has a right `Date`, so two more answers suffice.
const MOST_READS = 2;

/**
 * Decides when one acquisition must read the record again for a second `Date`: before a takeover at first sight, and
 * before a note of an observation. Seldom, because the `Date` of the answer before confirms the last one, and so does
 * the wall clock.
 */
export class SecondDate {
  readonly #context: AcquireContext;
  readonly #ref: RecordRef;
  #reads = 0;

  constructor(context: AcquireContext, ref: RecordRef) {
    this.#context = context;
    this.#ref = ref;
  }

  /** Whether the caller must read before it acts on this decision. Counts the read. */
  isMissing(decision: Decision, needsNote: boolean): boolean {
    if (decision.kind !== "wait" || this.#reads >= MOST_READS) return false;
    const isMissing = decision.isUnconfirmed === true || (needsNote && this.#isNoteUnsure());
    if (isMissing) this.#reads += 1;
    return isMissing;
  }

  #isNoteUnsure(): boolean {
    const { observations, tableClock } = this.#context;
    return observations.of(this.#ref.id)?.dated !== undefined && !tableClock.isConfirmed;
  }
}
