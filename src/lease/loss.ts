import { HoldfastError, type LossReason } from "../errors.js";
import type { Held, RecordRef } from "./format.js";
import type { Found } from "./record.js";

/** Why a grant is lost, from what was found at its record; undefined if the record is still its own. */
export function lossIn(found: Found, held: Held): LossReason | undefined {
  switch (found.state) {
    case "held":
      return found.holder === held.holder && found.fence === held.fence ? undefined : "stolen";
    case "free":
      return "released elsewhere";
    default:
      return "deleted";
  }
}

const WORDS: Readonly<Record<LossReason, string>> = Object.freeze({
  stolen: "the record names another holder",
  expired: "its deadline passed before a renewal was answered",
  deleted: "its record is gone",
  "released elsewhere": "its record was freed by somebody else",
  "session ended": "the session that it lived by has ended",
  closed: "the client was closed",
});

/** The error that a lost lease's signal carries. */
export function lossError(ref: RecordRef, reason: LossReason, cause: unknown): HoldfastError {
  const what = ref.kind === "session" ? "Session" : "Lock";
  return new HoldfastError(
    "lost",
    `${what} "${ref.name}" is no longer held: ${WORDS[reason]}. Stop what it protected.`,
    { lockName: ref.name, reason, cause },
  );
}
