import type { Inspection as InspectionOf } from "holdfast";
import type { AnyLocks } from "./format.js";
import { grantsBetween } from "./grants.js";

type Inspection = InspectionOf<AnyLocks>;

/** The change of a record between two reads. */
export type ChangeKind = "granted" | "changed" | "asked" | "silent" | "released" | "gone";

/** A change, in the form of the output. */
export interface Change {
  readonly change: ChangeKind;
  /** The number of unobserved grants in between; undefined if unknown. */
  readonly missed: bigint | undefined;
}

/**
 * The change between two reads of a record; undefined if nothing changed. Pure. `before` is undefined if there
 * was no record.
 */
export function changeOf(before: Inspection | undefined, after: Inspection): Change | undefined {
  const change = kindOf(before, after);
  return change === undefined ? undefined : { change, missed: missedOf(change, before, after) };
}

/** Whether a read, which may be eventually consistent, shows a state before another read. Pure. */
export function isOlder(found: Inspection, than: Inspection): boolean {
  if (found.fence === undefined || than.fence === undefined) return false;
  if (found.fence !== than.fence) return found.fence < than.fence;
  // A grant ends in at most one release, and a numeric version grows.
  if (found.state !== than.state) return found.state === "held";
  const [version, other] = [found.version, than.version];
  return typeof version === "bigint" && typeof other === "bigint" && version < other;
}

function kindOf(before: Inspection | undefined, after: Inspection): ChangeKind | undefined {
  if (after.state === "absent") return before === undefined ? undefined : "gone";
  const isSameGrant =
    before !== undefined && before.fence === after.fence && before.holder === after.holder;
  if (after.state !== "held") return isSameGrant ? undefined : "released";
  if (before === undefined || !isSameGrant) return "granted";
  if (after.appearsExpired && !before.appearsExpired) return "silent";
  if (essence(before) !== essence(after)) return "changed";
  // A request outlives its holder: only a scan that lags shows the holder without it again.
  if (after.request === undefined) return undefined;
  return JSON.stringify(before.request) === JSON.stringify(after.request) ? undefined : "asked";
}

function essence({ session, leaseMs, data }: Inspection): string {
  return JSON.stringify([session, leaseMs, data]);
}

function missedOf(
  change: ChangeKind,
  before: Inspection | undefined,
  after: Inspection,
): bigint | undefined {
  if (before?.fence === undefined || after.fence === undefined) return undefined;
  const between = grantsBetween(after.fence, before.fence);
  // The output shows the last grant; for a release, the grant was not shown.
  return change === "granted" || after.fence === before.fence ? between : between + 1n;
}
