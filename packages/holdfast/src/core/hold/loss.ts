import { HoldfastError, type LossReason, type LossTiming } from "../../errors.js";
import { shown } from "../../internal/shown.js";
import { seconds } from "../../internal/text.js";
import type { Held, RecordRef } from "../record/format.js";
import { type ForcedRelease, type Found, forcedReleaseIn } from "../record/record.js";
import { titleOf } from "../unavailable.js";

/** Returns the reason of a loss, by the record that a client found, or undefined if it still has the grant. */
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

/**
 * Returns the forced release of this grant, if any. Later grants keep the request, so a former holder can still read
 * the forced release.
 */
export function forcedIn(found: Found, held: Held): ForcedRelease | undefined {
  const isKnown = found.state === "free" || found.state === "held";
  const forced = isKnown ? forcedReleaseIn(found) : undefined;
  return forced?.holder === held.holder ? forced : undefined;
}

const WORDS: Readonly<Record<LossReason, string>> = Object.freeze({
  stolen: "the record names another holder",
  expired: "its deadline passed before a renewal was acknowledged",
  deleted: "its record was deleted",
  "released-elsewhere": "another client freed its record",
  "released-by-force": "an operator released it by force",
  "lost-with-another": "another lock of the same acquisition was lost",
  "session-ended": "its session has ended",
  interrupted: "another caller interrupted its holder, and the lease ended before a release",
  exported: "it was exported to another process",
  forgotten:
    "its handle was garbage-collected without a release. Keep it, or use `run()` or `await using`",
  "held-too-long": "it was held for as long as `maxHold` allows",
  closed: "its client or its session was closed",
});

interface LossDetails {
  readonly forced?: ForcedRelease | undefined;
  readonly timing?: LossTiming;
}

/** Returns the error for the signal of a lost lease. */
export function lossError(
  ref: RecordRef,
  reason: LossReason,
  cause: unknown,
  { forced, timing }: LossDetails = {},
): HoldfastError {
  const why =
    forced === undefined
      ? WORDS[reason]
      : `${shown(forced.by)} released it by force (${shown(forced.reason)})`;
  return new HoldfastError(
    "lost",
    `${titleOf([ref.name], ref.kind)} is no longer held: ${why}.${reason === "expired" ? timingText(timing) : ""} ` +
      "Stop the protected work.",
    { lockName: ref.name, reason, cause, timing },
  );
}

// A shorter delay occurs on any busy machine, so the message does not mention it.
const NOTABLE_MS = 100;

function timingText(timing: LossTiming | undefined): string {
  if (timing === undefined) return "";
  const { silentMs, lateMs, stalledMs } = timing;
  const silent = ` DynamoDB acknowledged the last request ${seconds(silentMs)} ago.`;
  if (stalledMs >= NOTABLE_MS) {
    return `${silent} This process did not run for ${seconds(stalledMs)}: its event loop was blocked, or it was stopped.`;
  }
  if (lateMs < NOTABLE_MS) return silent;
  return `${silent} The deadline passed ${seconds(lateMs)} ago: the machine was suspended, or its clock was set.`;
}

// For these reasons no acquisition may reclaim the record early, not even a waiter of this process: the callback
// or work without a handle needs time to stop, or the lock is reserved for an importer. The record is available after release, import or
// expiry.
export const RESERVED_AFTER_LOSS: readonly LossReason[] = [
  "held-too-long",
  "released-by-force",
  "exported",
  "lost-with-another",
  "forgotten",
];

// A record on a session does not expire while the session is held. So the client frees the record after this many
// leases. An expired lease may have moved by an unacknowledged write; a lease with a forced release has moved.
export const SWEEP_AFTER_LEASES: Partial<Record<LossReason, number>> = {
  expired: 0,
  interrupted: 0,
  "held-too-long": 1,
  "released-by-force": 1,
  "lost-with-another": 1,
  forgotten: 1,
};
