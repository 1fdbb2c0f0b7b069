import type { HolderSeen } from "../../errors.js";
import { shown } from "../../internal/shown.js";
import { seconds } from "../../internal/text.js";
import type { LeaseSettings } from "../options.js";
import type { RecordRef } from "../record/format.js";
import type { AcquireContext } from "./context.js";

/** How a caller waits for a dead holder. */
const WAIT_HINT = '`wait: { beyondLease: "5s" }`';

/**
 * The leases of the last observed holder: in the record, and in its session's row; of a record with permits, the leases
 * of all. Empty without a holder.
 */
export function leasesSeen(context: AcquireContext, ref: RecordRef): readonly number[] {
  const held = context.observations.known(ref.id);
  if (held?.state !== "held") return (held?.permits ?? []).map(({ leaseMs }) => leaseMs);
  const row = held.session === undefined ? undefined : context.sessions.of(held.session)?.record;
  return row?.state === "held" ? [held.leaseMs, row.leaseMs] : [held.leaseMs];
}

/** In how many milliseconds a waiter with these settings would look again at the latest. */
export function retryAfterMs(
  seen: HolderSeen | undefined,
  { maxPollMs }: Pick<LeaseSettings, "maxPollMs">,
): number {
  return Math.min(maxPollMs, seen?.takeableInMs ?? maxPollMs);
}

/**
 * This client itself if it holds the record, without times: it does not observe the renewals of its own leases. Otherwise
 * what this process saw of the holder since `fromMs`; undefined if no answer since then has shown the record.
 */
export function holderSeen(
  context: AcquireContext,
  ref: RecordRef,
  fromMs: number,
): HolderSeen | undefined {
  const { observations } = context;
  const lockName = ref.name;
  const own = context.holds.ofRecord(ref.id);
  if (own !== undefined) {
    return {
      lockName,
      owner: own.settings.owner,
      leaseMs: own.leaseMs,
      isOwn: true,
      silentMs: undefined,
      takeableInMs: undefined,
    };
  }
  const held = observations.held(ref.id);
  if (held === undefined || observations.lookedAtMs(ref.id) < fromMs) return undefined;
  const { session } = held;
  // A session renews its own row, and not the records.
  const id = session === undefined ? ref.id : context.format.codec.refOf("session", session).id;
  const sinceMs = observations.of(id)?.sinceMs;
  const decision = context.decide(ref, false, { kind: "barge" });
  const takeableInMs =
    decision.kind === "wait"
      ? Math.max(0, decision.acquirableAtMs - context.nowMs())
      : decision.kind === "look-at-session"
        ? undefined
        : 0;
  return {
    lockName,
    owner: held.owner,
    leaseMs: Math.max(...leasesSeen(context, ref)),
    isOwn: false,
    silentMs: sinceMs === undefined ? undefined : observations.lookedAtMs(id) - sinceMs,
    takeableInMs,
  };
}

/** Says who holds the lock, since when the holder is silent, and when the lock can be taken over. */
export function heldText(
  which: string,
  owner: string | undefined,
  seen: HolderSeen | undefined,
  mayHint: boolean,
): string {
  const holds = `${shown(owner ?? "an unnamed owner")} holds ${which}`;
  if (seen?.silentMs === undefined || seen.takeableInMs === undefined) return holds;
  const hint = mayHint ? ` To wait that long, use ${WAIT_HINT}.` : "";
  return (
    `${holds}, and this process has seen no renewal for ${seconds(seen.silentMs)}. If the holder does not renew, a ` +
    `takeover is possible in ${seconds(seen.takeableInMs)}.${hint}`
  );
}
