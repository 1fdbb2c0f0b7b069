import { HoldfastError, type LossReason } from "../../errors.js";
import { shown } from "../../internal/shown.js";
import type { Held, RecordRef } from "../record/format.js";
import type { ForcedRelease, Found } from "../record/record.js";

/** Why a grant is lost, from what was found at its record; undefined if the record is still its own. */
export function lossIn(found: Found, held: Held): LossReason | undefined {
  if (forcedIn(found, held) !== undefined) return "released-by-force";
  switch (found.state) {
    case "held":
      return found.holder === held.holder && found.fence === held.fence ? undefined : "stolen";
    case "free":
      return "released-elsewhere";
    default:
      return "deleted";
  }
}

/** Who wanted this grant to end, if anybody did. Later grants leave it there, so that a victim is still told. */
export function forcedIn(found: Found, held: Held): ForcedRelease | undefined {
  const forced = found.state === "free" || found.state === "held" ? found.forced : undefined;
  return forced?.holder === held.holder ? forced : undefined;
}

const WORDS: Readonly<Record<LossReason, string>> = Object.freeze({
  stolen: "the record names another holder",
  expired: "its deadline passed before a renewal was answered",
  deleted: "its record is gone",
  "released-elsewhere": "its record was freed by somebody else",
  "released-by-force": "somebody released it by force",
  "lost-with-another": "a lock that was acquired together with it was lost",
  "session-ended": "the session that it lived by has ended",
  exported: "it was exported to another process",
  closed: "the client was closed",
});

/** The error that a lost lease's signal carries. */
export function lossError(
  ref: RecordRef,
  reason: LossReason,
  cause: unknown,
  forced?: ForcedRelease,
): HoldfastError {
  const what = ref.kind === "session" ? "Session" : "Lock";
  const why =
    forced === undefined
      ? WORDS[reason]
      : `released by ${shown(forced.by)}: ${shown(forced.reason)}`;
  return new HoldfastError(
    "lost",
    `${what} "${ref.name}" is no longer held: ${why}. Stop what it protected.`,
    { lockName: ref.name, reason, cause },
  );
}

// Told to end long before its deadline, or lost with another, what ran under it gets the time to end;
// exported, it is meant for somebody. Nobody takes it sooner, not even a waiter of this process, than it is released, imported or run out.
export const RESERVED_AFTER_LOSS: readonly LossReason[] = [
  "released-by-force",
  "exported",
  "lost-with-another",
];

// A record that a lease leaves behind may name a session, which then lives on: after so many leases it is
// freed. Expired, it may have been moved by a write that was never answered; told to end, it was moved.
export const SWEEP_AFTER_LEASES: Partial<Record<LossReason, number>> = {
  expired: 0,
  "released-by-force": 1,
  "lost-with-another": 1,
};
