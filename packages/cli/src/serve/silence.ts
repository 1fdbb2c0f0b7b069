import type { Inspection } from "holdfast/admin";
import type { Row } from "./view-types.js";

/** How long a holder has been silent. Pure. */

/** The state of a holder, and the time since its last sign of life. */
export type Silence = Pick<Row, "state" | "silentMs">;

/**
 * Measures the silence of a holder: by the end of the lease in the record, or by how long this client has watched the
 * record unchanged. Each can fall short of the truth, so the longer of both counts.
 */
export function silenceOf(
  {
    endsInMs,
    acquirableInMs,
    appearsExpired,
  }: Pick<Inspection, "endsInMs" | "acquirableInMs" | "appearsExpired">,
  leaseMs: number | undefined,
): Silence {
  if (leaseMs === undefined) return { state: appearsExpired ? "silent" : "held" };
  const left = Math.min(endsInMs ?? acquirableInMs, acquirableInMs);
  const silentMs = Math.max(0, leaseMs - left);
  if (appearsExpired) return { state: "silent", silentMs };
  return { state: silentMs > leaseMs ? "late" : "held", silentMs };
}
