/**
 * The record of the AWS lock client for Java (`com.amazonaws:dynamodb-lock-client`, all releases to 1.4.0) and
 * of its C# port: spec/formats/aws-lock-client.md. `owned.ts` composes the writes.
 *
 * Not promised:
 * - A fence. Grants have no number, so a lease has a fence only with `fences: "companion"`.
 * - A single holder beside a peer, which is a process with the AWS lock client, that uses `updateExistingLockRecord`.
 *   Such a peer can leave the record of a held lock so that the lock looks released. The next client that claims the
 *   lock then holds it too, and no client can detect this.
 *
 * The format cannot keep three rules of the protocol:
 * - R9: a peer's put deletes a fence in the record, and so does a release.
 * - R10: no client extends a TTL, so the table must have no TTL attribute.
 * - R14, in part: DynamoDB may apply an abandoned claim of an absent record late. The lock is then held for one lease.
 *
 * A peer decides by its own clock, without a margin for drift. This library's holders (R2) and waiters (R3) keep a
 * margin.
 */
import type { LockFormat } from "holdfast/internal";
import { type LeasesWith, type OwnedOptions, ownedFormat } from "./owned.js";
import type { Dialect } from "./owned-record.js";

const DIALECT: Dialect = Object.freeze({
  name: "aws-lock-client",
  keepsAttributes: false,
  // The defaults of the Java client: a heartbeat every 5 s, a poll every second, and a wait of a lease and 1 s more.
  defaults: Object.freeze({
    lease: "20s",
    renewsPerLease: 4,
    wait: Object.freeze({ beyondLease: "1s" }),
    minPoll: "1s",
    maxPoll: "1s",
  }),
  leaseText: (leaseMs: number) => String(leaseMs),
  leaseMsIn(text: string) {
    const leaseMs = /^\+?\d{1,15}$/.test(text) ? Number(text) : 0;
    return leaseMs > 0 ? leaseMs : undefined;
  },
});

/**
 * Shares a table with the AWS lock client for Java and its C# port. User data are bytes. A lease has a fence only with
 * `fences: "companion"`. A release deletes the record, unless `keepData` keeps it.
 *
 * The lengths of time are those of the Java client:
 * - The lease is 20 s. A holder renews after a quarter of the lease.
 * - A waiter polls every second. It waits for the lease, the drift margin and 1 s more.
 *
 * Costs as much as native locks: one request for each step. The client also needs the permissions `dynamodb:PutItem`
 * and `dynamodb:DeleteItem`. Throws `invalid-argument`. docs/formats.md maps the options of the Java client.
 */
export function awsLockClient<const O extends OwnedOptions = OwnedOptions>(
  options?: O,
): LockFormat<LeasesWith<O>>;
export function awsLockClient(options: OwnedOptions = {}): LockFormat {
  return ownedFormat(DIALECT, options);
}
