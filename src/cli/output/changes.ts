import type { Inspection as InspectionOf } from "../../index.js";
import type { AnyLocks } from "./format.js";

type Inspection = InspectionOf<AnyLocks>;

/** What became of a record between two looks. */
export type ChangeKind = "granted" | "changed" | "silent" | "released" | "gone";

/** One change, as it is told. */
export interface Change {
  readonly change: ChangeKind;
  /** Grants in between that were not seen; undefined where that cannot be said. */
  readonly missed: bigint | undefined;
}

/**
 * What there is to tell of a record that looked like `before`, undefined while there was none, and looks
 * like `after`; undefined where there is nothing. Pure.
 */
export function changeOf(before: Inspection | undefined, after: Inspection): Change | undefined {
  const change = kindOf(before, after);
  return change === undefined ? undefined : { change, missed: missedOf(change, before, after) };
}

/** Whether a look, which may be eventually consistent, shows what was before another one. Pure. */
export function isOlder(found: Inspection, than: Inspection): boolean {
  if (found.fence === undefined || than.fence === undefined) return false;
  if (found.fence !== than.fence) return found.fence < than.fence;
  // Within one grant it is released once, and the version grows where it is a number.
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
  return essence(before) === essence(after) ? undefined : "changed";
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
  const grants = after.fence - before.fence;
  // The last of them is what is told; of a release the grant before it was not.
  return change === "granted" ? grants - 1n : grants;
}
