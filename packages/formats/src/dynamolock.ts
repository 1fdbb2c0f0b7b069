/**
 * The record of dynamolock (`cirello.io/dynamolock`, v1 to v5), a lock client for Go:
 * spec/formats/dynamolock.md. `owned.ts` composes the writes.
 *
 * Not promised: a fence. Grants have no number, so a lease has a fence only with `fences: "companion"`.
 *
 * The format cannot keep three rules of the protocol:
 * - R9: a release may delete the record.
 * - R10: the table must have no TTL attribute. A peer, which is a process with dynamolock, copies the attribute into
 *   its own grant and never extends it.
 * - R14, in part: DynamoDB may apply an abandoned claim of an absent record late. The lock is then held for one lease.
 *
 * A peer that does not wait never takes over from a dead holder (R3). If a record has no lease length, a peer takes
 * the lock at its second read (R12); this library refuses such a record.
 */

import type { LockFormat } from "holdfast/internal";
import { goDurationMs, goDurationText } from "./go-duration.js";
import { type LeasesWith, type OwnedOptions, ownedFormat } from "./owned.js";
import type { Dialect } from "./owned-record.js";

const DIALECT: Dialect = Object.freeze({
  name: "dynamolock",
  keepsAttributes: true,
  // The defaults of the Go client. By default its grants keep the data, and its releases keep the record.
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
    // Rounds a fraction of a millisecond up: a waiter may watch a silent holder for longer, never for a shorter time.
    return leaseMs !== undefined && leaseMs > 0 ? Math.ceil(leaseMs) : undefined;
  },
});

/**
 * Shares a table with dynamolock for Go. User data are bytes. A lease has a fence only with `fences: "companion"`.
 *
 * The defaults are those of dynamolock:
 * - A grant keeps the data and the further attributes of a record. `existingData: "replace"` replaces the data.
 * - A release keeps the record. `keepData: false` deletes the record.
 * - The lease is 20 s. A holder renews after a quarter of the lease.
 * - A waiter polls every second. It waits for the lease, the drift margin and 1 s more.
 *
 * Costs as much as native locks: one request for each step. The client also needs the permission
 * `dynamodb:DeleteItem` if a release deletes the record. Throws `invalid-argument`.
 */
export function dynamolock<const O extends OwnedOptions = OwnedOptions>(
  options?: O,
): LockFormat<LeasesWith<O>>;
export function dynamolock(options: OwnedOptions = {}): LockFormat {
  return ownedFormat(DIALECT, options);
}
