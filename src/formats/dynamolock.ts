/**
 * The record of dynamolock (`cirello.io/dynamolock`, v1 to v5), a lock client for Go:
 * spec/formats/dynamolock.md. Its writes are those of `owned.ts`.
 *
 * What it does not do: its grants are not numbered, so a lease has no fence without `fences: "companion"`. Of the house's rules it
 * cannot keep R9 (a release may delete), R10 (there must be no TTL attribute: a peer copies it into its own
 * grant and never moves it), and R14 in part: a claim of what is absent that was given up may land late,
 * and then holds for one lease. A peer that is told not to wait never takes a dead lock (R3), and one that
 * finds no lease length takes the lock at its second look (R12); here such a record is refused.
 */

import type { LockFormat } from "../core/record/format-types.js";
import { goDurationMs, goDurationText } from "../internal/go-duration.js";
import { type LeasesWith, type OwnedOptions, ownedFormat } from "./owned.js";
import type { Dialect } from "./owned-record.js";

const DIALECT: Dialect = Object.freeze({
  name: "dynamolock",
  keepsAttributes: true,
  // Their own, as are keeping the data at a grant and the record at a release.
  defaults: Object.freeze({
    lease: "20s",
    renewsPerLease: 4,
    wait: Object.freeze({ beyondLease: "1s" }),
    minPoll: "1s",
    maxPoll: "1s",
    existingData: "keep",
    keepData: true,
  }),
  leaseText: goDurationText,
  leaseMsIn(text: string) {
    const leaseMs = goDurationMs(text);
    // A part of a millisecond is one more to wait, never one less.
    return leaseMs !== undefined && leaseMs > 0 ? Math.ceil(leaseMs) : undefined;
  },
});

/**
 * Shares a table with dynamolock for Go. User data are bytes, and a lease has no fence without `fences: "companion"`. As there, a grant
 * keeps the data and the further attributes that a record has (`existingData: "replace"` for other data), and
 * a release keeps the record (`keepData: false` deletes it). Lengths of time are theirs: lease 20 s, renewal a
 * quarter of it, wait 1 s beyond the watch of a lease, poll 1 s.
 *
 * Costs what native locks cost, one request a step, and needs `dynamodb:DeleteItem` besides where a
 * release deletes. Throws `invalid-argument`.
 */
export function dynamolock<const O extends OwnedOptions = OwnedOptions>(
  options?: O,
): LockFormat<LeasesWith<O>>;
export function dynamolock(options: OwnedOptions = {}): LockFormat {
  return ownedFormat(DIALECT, options);
}
