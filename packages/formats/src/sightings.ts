/**
 * Keeps observations in the table, for a format whose records have no end of the lease: a note in an item beside the
 * record. A refused client whose wait ends before the watch leaves a note of the record's holder, version and length, and
 * of an upper bound of the table's time. If a later client finds the record unchanged, in an answer whose `Date` is later
 * by more than the length and `maxClockError`, it takes over. So processes that live for less than a lease can take over
 * from a dead holder.
 *
 * Costs one write for each refused caller whose wait ends before the watch. The refusal of this write shows an earlier
 * note, so no read is needed. A client that knows a note of a holder and version sends no further write for them. Needs
 * `dynamodb:UpdateItem` on the item, whose key begins with the lock's name.
 *
 * Not promised: a takeover at the first refusal. The first refused client only leaves the note. A lost or replaced note
 * costs another refusal.
 *
 * The key is the record's key with `#holdfast-seen` after the last part.
 *
 * | attribute | type | meaning |
 * | --- | --- | --- |
 * | `seen` | M | what the client saw in the record: `holder` (S), `version` (S), `leaseMs` (N) |
 * | `seenBy` | N | an upper bound of the table's time when the client saw it, in milliseconds since 1970 |
 *
 * | step | request | condition | change |
 * | --- | --- | --- | --- |
 * | note | update | absent, or a note of another `seen`, or a note with a later `seenBy` | `seen`, `seenBy` |
 *
 * Why a takeover by a note is safe. D is `maxClockError`: no server's clock is off by more than D/2.
 * - A holder writes a version when it is granted or renews, and may act until one length after it sent this write. A
 *   client can see the version only later, and `seenBy` is not before that moment by some server's clock. So the holder
 *   stops at a true time of `seenBy` + length + D/2 at the latest, unless it has renewed.
 * - The taker's `Date` is at least `seenBy` + length + D, perhaps by another server's clock. So the true time is at least
 *   `seenBy` + length + D/2: the holder has stopped, or it has renewed. If it has renewed, the record has another version,
 *   and DynamoDB refuses the takeover. The length includes the drift margin of a watch.
 * - `seenBy` is the `Date` of the answer that showed the record, rounded up, and widened by the time for which the request
 *   lasted. The clocks of two machines are not compared.
 * - A note never becomes wrong, because no write restores an earlier version. So a late or repeated write of an earlier
 *   note only replaces a newer one, and delays the takeover. If a release deletes the record, a late copy of the holder's
 *   claim can restore the version, but that holder has ended.
 * - No client may give a note of the same version a later `seenBy`: the time would never pass. An earlier `seenBy` may
 *   replace a later one, because both are true.
 *
 * Assumes that no client restores an earlier version. A peer of dynamolock with `WithUnsafeMatchOwnerOnly`, or a record
 * restored from a backup while its holder lives, breaks this assumption.
 */
import type {
  AttributeValue,
  Condition,
  Item,
  RecordRef,
  Sighting,
  SightingFormat,
} from "holdfast/internal";
import { noteSighting } from "holdfast/internal";
import { type CompanionKind, companionKey } from "./companion.js";
import {
  all,
  any,
  isAbsent,
  isPresent,
  LENGTH_DIGITS,
  n,
  s,
  stringIn,
  wholeIn,
} from "./foreign.js";

const SEEN = "seen";
const SEEN_BY = "seenBy";

/** The companions that store observations. */
export const SIGHTINGS: CompanionKind = Object.freeze({
  suffix: "#holdfast-seen",
  stores: "observations",
  attributes: [SEEN, SEEN_BY],
});

// A time with more digits is not from a client.
const LATEST_MS = 10 ** LENGTH_DIGITS;

const IS_NOTE: Condition = all(isPresent(SEEN), {
  kind: "below",
  attribute: SEEN_BY,
  value: n(LATEST_MS),
});

/** Where a format stores observations: in companions, or nowhere. */
export type KeptObservations = "companion" | undefined;

/**
 * Makes the notes of a format with the partition key `pk` and an optional sort key `sk`. `looks`: further attributes of
 * a note, so that a peer can read it in a listing of the table.
 */
export function sightingNotes(pk: string, sk: string | undefined, looks: Item): SightingFormat {
  return {
    leave: noteSighting,
    note(ref: RecordRef, sighting: Sighting) {
      const seen = seenIn(sighting);
      const isOfAnother: Condition = { kind: "differs", attribute: SEEN, value: seen };
      const isLater: Condition = {
        kind: "at-least",
        attribute: SEEN_BY,
        value: n(sighting.byMs + 1),
      };
      return {
        key: companionKey(ref, sk ?? pk, SIGHTINGS),
        // Any other item at the key belongs to another program: the note leaves it alone.
        condition: any(isAbsent(pk), all(IS_NOTE, any(isOfAnother, isLater))),
        change: { set: { ...looks, [SEEN]: seen, [SEEN_BY]: n(sighting.byMs) }, remove: [] },
      };
    },
    noteIn,
  };
}

function seenIn({ holder, version, leaseMs }: Sighting): AttributeValue {
  return { M: { holder: s(holder), version: s(String(version)), leaseMs: n(leaseMs) } };
}

function noteIn(item: Item | undefined): Sighting | undefined {
  const seen = item?.[SEEN];
  const byMs = item && wholeIn(item, SEEN_BY, LENGTH_DIGITS);
  if (seen === undefined || !("M" in seen) || byMs === undefined) return undefined;
  const holder = stringIn(seen.M, "holder");
  const version = stringIn(seen.M, "version");
  const leaseMs = wholeIn(seen.M, "leaseMs", LENGTH_DIGITS);
  if (holder === undefined || version === undefined || leaseMs === undefined) return undefined;
  return { holder, version, leaseMs: Number(leaseMs), byMs: Number(byMs) };
}
