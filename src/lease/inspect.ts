import type { Json } from "../internal/json-value.js";
import { watchMs } from "./decide.js";
import type { RecordRef } from "./format.js";
import type { Kernel } from "./kernel.js";
import type { LeaseRecord } from "./record.js";
import { troubleError } from "./trouble.js";

/** What is known of a lock without acquiring it. */
export interface Inspection {
  readonly name: string;
  /** `absent`: the name was never locked, or its record has gone by TTL. */
  readonly state: "absent" | "free" | "held";
  /** Who holds it; undefined unless held. */
  readonly holder: string | undefined;
  /** The label of who holds it, or held it last. */
  readonly owner: string | undefined;
  /** The fence of the last grant. */
  readonly fence: bigint | undefined;
  /** Changes with every renewal. */
  readonly version: bigint | undefined;
  /** When it was last granted, ISO, by that holder's clock. */
  readonly acquiredAt: string | undefined;
  /** For how long the holder may be silent, in milliseconds; undefined unless held. */
  readonly leaseMs: number | undefined;
  readonly data: Json | undefined;
  /** Whether this client has watched the holder be silent for longer than its lease. */
  readonly looksDead: boolean;
  /**
   * In how many milliseconds this client could take it at the earliest, if the holder stays silent:
   * 0 for a free lock and a dead holder.
   */
  readonly takeableInMs: number;
}

/** What an inspection of a record says, as far as this client has watched it. */
export function inspectionOf(kernel: Kernel, ref: RecordRef, record: LeaseRecord): Inspection {
  const known = record.state === "absent" ? undefined : record;
  const held = record.state === "held" ? record : undefined;
  const sinceMs = kernel.observations.of(ref.id)?.sinceMs ?? kernel.nowMs();
  const deadAtMs =
    held === undefined ? 0 : sinceMs + watchMs(held.leaseMs, kernel.settings.driftBound);
  const leftMs = held === undefined ? 0 : Math.max(0, deadAtMs - kernel.nowMs());
  return {
    name: ref.name,
    state: record.state,
    holder: held?.holder,
    owner: known?.owner,
    fence: known?.fence,
    version: known?.version,
    acquiredAt: known?.acquiredAt,
    leaseMs: held?.leaseMs,
    data: known?.data as Json | undefined,
    looksDead: held !== undefined && leftMs === 0,
    takeableInMs: leftMs,
  };
}

/** Reads one record, strongly, and inspects it. One read unit. Throws coded errors. */
export async function inspect(kernel: Kernel, ref: RecordRef): Promise<Inspection> {
  const answer = await kernel.read(
    { key: ref.key, consistent: true },
    kernel.settings.requestTimeoutMs,
  );
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "found") throw troubleError(ref.name, "was not read", answer);
  return inspectionOf(kernel, ref, kernel.seeRecord(ref, answer.item, "strong"));
}
