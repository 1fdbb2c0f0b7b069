import type { AcquireContext } from "../core/acquire/context.js";
import { leftByWallMs, watchMs } from "../core/record/decide.js";
import type { RecordRef } from "../core/record/format.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import type { ForcedRelease, HeldRecord, LeaseRecord, Version } from "../core/record/record.js";
import { unavailableError } from "../core/unavailable.js";
import type { Json } from "../internal/json-value.js";
import type { Item, ReadAnswer } from "../platform/table.js";

/** What is known of a lock without acquiring it. */
export interface Inspection<S extends FormatTypes = NativeTypes> {
  readonly name: S["name"];
  /** Which of several fair locks of the name; undefined for the one that is its mutex too. */
  readonly namespace: string | undefined;
  /**
   * `absent`: the name was never locked, or its record has gone by TTL. `local`: there is no table, and
   * every lock is free.
   */
  readonly state: "absent" | "free" | "held" | "local";
  /** Who holds it; undefined unless held. */
  readonly holder: string | undefined;
  /** The label of who holds it, or held it last. */
  readonly owner: string | undefined;
  /** The fence of the last grant; undefined also in a format without fences. */
  readonly fence: S["fence"] | undefined;
  /** The session that its holder lives by; undefined while the holder renews the lock itself. */
  readonly session: string | undefined;
  /** Changes with every renewal: a number that grows, or in some formats a text that is always new. */
  readonly version: Version | undefined;
  /** When it was last granted, ISO, by that holder's clock. */
  readonly acquiredAt: string | undefined;
  /** For how long the holder may be silent, in milliseconds; undefined unless held. */
  readonly leaseMs: number | undefined;
  readonly data: S["data"] | undefined;
  /** Further attributes of the record, in a format that carries them for its users. */
  readonly attributes: S["attributes"] | undefined;
  /** The last forced release of this name, whoever holds it now: whose grant, who, when and why. */
  readonly forced: ForcedRelease | undefined;
  /** Whether this client has watched the holder be silent for longer than its lease. */
  readonly appearsExpired: boolean;
  /**
   * In how many milliseconds this client could take it at the earliest, if the holder stays silent:
   * 0 for a free lock and a dead holder.
   */
  readonly acquirableInMs: number;
}

/** What an inspection of a record says, as far as this client has watched it. */
export function inspectionOf(
  context: AcquireContext,
  ref: RecordRef,
  record: LeaseRecord,
): Inspection {
  const known = record.state === "absent" ? undefined : record;
  const held = record.state === "held" ? record : undefined;
  const leftMs = held === undefined ? 0 : leftToWatchMs(context, ref, held);
  return {
    // The format says which of the two it is, as it does to the types.
    name: (ref.parts ?? ref.name) as string,
    namespace: ref.namespace,
    state: context.isLocal ? "local" : record.state,
    holder: held?.holder,
    owner: known?.owner,
    fence: context.format.isFenced === false ? undefined : known?.fence,
    session: held?.session,
    version: known?.version,
    acquiredAt: known?.acquiredAt,
    leaseMs: held?.leaseMs,
    data: known?.data as Json | undefined,
    forced: known?.forced,
    attributes: known?.attributes as undefined,
    appearsExpired: held !== undefined && leftMs === 0,
    acquirableInMs: leftMs,
  };
}

// Who lives by a session is as dead, or as alive, as that is.
function leftToWatchMs(context: AcquireContext, ref: RecordRef, held: HeldRecord): number {
  const { observations, sessions, settings } = context;
  const seen = held.session === undefined ? observations.of(ref.id) : sessions.of(held.session);
  if (held.session !== undefined && seen?.record.state === "free") return 0;
  const leaseMs = seen?.record.state === "held" ? seen.record.leaseMs : held.leaseMs;
  const sinceMs = seen?.sinceMs ?? context.nowMs();
  const leftMs = sinceMs + watchMs(leaseMs, settings.maxClockDrift) - context.nowMs();
  return Math.max(0, leftMs, leftByWallMs(held, context.wallMs()));
}

/**
 * Reads one record, strongly, and inspects it; one that lives by a session, with its session. One read
 * unit, or two. Throws coded errors.
 */
export async function inspect(context: AcquireContext, ref: RecordRef): Promise<Inspection> {
  const { requestTimeoutMs } = context.settings;
  const answer = await context.read({ key: ref.key, consistent: true }, requestTimeoutMs);
  const record = context.seeRecord(ref, itemIn(ref, answer), "strong");
  if (record.state === "held" && record.session !== undefined) {
    itemIn(ref, await context.sessions.look(record.session, requestTimeoutMs));
  }
  return inspectionOf(context, ref, record);
}

function itemIn(ref: RecordRef, answer: ReadAnswer): Item | undefined {
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "found") throw unavailableError(ref.name, "was not read", answer);
  return answer.item;
}
