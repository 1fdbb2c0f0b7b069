/**
 * The record of the AWS lock client for Java (`com.amazonaws:dynamodb-lock-client`, all releases to
 * 1.4.0) and of its C# port: spec/formats/aws-lock-client.md. Its writes are those of `owned.ts`.
 *
 * What it does not do: its grants are not numbered, so a lease has no fence without `fences: "companion"`. A peer that sets
 * `updateExistingLockRecord` can leave a lock that is held and looks released; whoever comes next then
 * holds it too, and nothing here can tell. Of the house's rules it cannot keep R9 (a peer's put wipes,
 * a release deletes), R10 (nobody moves a TTL; it has to be off), and R14 in part: a claim of what is
 * absent that was given up may land late, and then holds for one lease. A peer judges by its own clock
 * with no margin for drift; the holder here keeps one (R2), and so does the watch (R3).
 */
import type { LockFormat } from "../core/record/format-types.js";
import { type LeasesWith, type OwnedOptions, ownedFormat } from "./owned.js";
import type { Dialect } from "./owned-record.js";

const DIALECT: Dialect = Object.freeze({
  name: "aws-lock-client",
  keepsAttributes: false,
  // Their own: a beat every 5 s, a look every second, a lease and a second of waiting.
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
 * Shares a table with the AWS lock client for Java and its C# port. User data are bytes, and a lease
 * has no fence without `fences: "companion"`. A release deletes the record, unless `keepData` asks to keep it. Lengths of time are
 * the Java client's: lease 20 s, renewal a quarter of it, wait 1 s beyond the watch of a lease, poll 1 s.
 *
 * Costs what native locks cost, one request a step, and needs `dynamodb:PutItem` and
 * `dynamodb:DeleteItem` besides. Throws `invalid-argument`. docs/formats.md maps every option of theirs.
 */
export function awsLockClient<const O extends OwnedOptions = OwnedOptions>(
  options?: O,
): LockFormat<LeasesWith<O>>;
export function awsLockClient(options: OwnedOptions = {}): LockFormat {
  return ownedFormat(DIALECT, options);
}
