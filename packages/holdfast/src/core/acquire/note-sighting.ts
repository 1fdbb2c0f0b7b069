import { HoldfastError } from "../../errors.js";
import { isJudged } from "../../platform/table.js";
import type { RecordRef } from "../record/format.js";
import { withSighting } from "../record/observation.js";
import type { Sighting } from "../record/sighting.js";
import type { AcquireContext } from "./context.js";
import type { RecordAcquisition } from "./settings.js";

/**
 * Writes a note of a held record beside the record, or reads an earlier note. Adds the sighting to the observation.
 * Sends one write: if the record has an earlier note of the same holder and version, DynamoDB refuses the write and
 * shows that note. Sends nothing if this client already knows a note of this holder and version.
 *
 * The note may be lost, which only delays a takeover. An error of the table's configuration is reported once.
 */
export async function noteSighting({
  context,
  ref,
  cancellation: { signal },
}: RecordAcquisition): Promise<void> {
  const { sightings } = context.format;
  const sighting = newSighting(context, ref);
  if (sightings === undefined || sighting === undefined) return;
  const answer = await context.write(sightings.note(ref, sighting), undefined, signal);
  if (answer.kind === "misconfigured") context.reportOnce(REPORTED, () => answer.error);
  if (!isJudged(answer)) return;
  const noted = sightings.noteIn(answer.item);
  if (noted === undefined) context.reportOnce(REPORTED, () => foreignNote(ref));
  else context.observations.change(ref.id, (seen) => withSighting(seen, noted));
}

const REPORTED = "sightings";

/**
 * The sighting to note. Undefined without a `Date` that a second witness confirms, without a bound, and if the client
 * knows an earlier sighting.
 */
function newSighting(context: AcquireContext, ref: RecordRef): Sighting | undefined {
  const seen = context.observations.of(ref.id);
  if (seen?.record.state !== "held" || seen.dated === undefined) return undefined;
  if (seen.sightedByMs !== undefined) return undefined;
  if (context.settings.maxClockErrorMs === Number.POSITIVE_INFINITY) return undefined;
  const { holder, version, leaseMs } = seen.record;
  // Not the `Date` alone: DynamoDB may stamp an answer before it reads the record.
  const byMs = context.tableClock.latestMs();
  return byMs === undefined ? undefined : { holder, version, leaseMs, byMs };
}

function foreignNote({ name }: RecordRef): HoldfastError {
  return new HoldfastError(
    "foreign-record",
    `Another program wrote the item at the key where this library stores its observation of lock "${name}". Nothing was ` +
      "written. Find out which program wrote this item, and move the item to another key.",
    { lockName: name },
  );
}
