import type { Inspection } from "holdfast";
import type { InspectedPermit, PermitInspection, PermitKind } from "holdfast/admin";
import { shown } from "holdfast/internal";
import type { NamespaceOptions } from "../options.js";
import { usageError } from "./exit-codes.js";
import { type AnyLocks, endText, type SortOptions } from "./format.js";
import { columns, seconds } from "./output.js";

/** Whether the value of --kind is of a record with permits. */
export function isPermitKind(kind: string | undefined): kind is PermitKind {
  return kind === "semaphore" || kind === "read-write";
}

/** Whether the inspection is of a record with permits. */
export function hasPermits(found: Inspection<AnyLocks>): found is PermitInspection {
  return isPermitKind(found.kind);
}

/** Whether records of the kind have a queue: candidates of an election, and calls of `once`, have no place. */
export function hasQueue(kind: string): boolean {
  return kind === "lock" || isPermitKind(kind);
}

/** Throws a usage error for an option about the name that is for other records. */
export function assertPlainName({ namespace, sort }: NamespaceOptions & SortOptions): void {
  if (namespace !== undefined) {
    throw usageError("--namespace is for fair locks only. Leave it out.");
  }
  if (sort !== undefined) {
    throw usageError("--sort is for locks and leaderships only. Leave it out.");
  }
}

const HEADING = ["OWNER", "WEIGHT", "FENCE", "LEASE", "ENDS", "SESSION", "HOLDER"] as const;

/** Describes a semaphore or a read-write lock, with a line for each permit. */
export function permitsText(found: PermitInspection, width: number): string {
  const { kind, name, state, limit, used, fence, permits, isQueued, forced } = found;
  const lines: readonly (readonly [string, string | undefined])[] = [
    ["name", name],
    ["kind", kind],
    ["state", state],
    ["limit", limit?.toString()],
    ["used", used.toString()],
    ["fence", fence?.toString()],
    ["queue", isQueued ? "waiters; `holdfast queue` lists them" : "empty"],
    ["forced", forced && `${forced.holder}, by ${forced.by} at ${forced.at}: ${forced.reason}`],
  ];
  const text = lines
    .flatMap(([label, value]) => (value === undefined ? [] : `${label.padEnd(8)}${shown(value)}`))
    .join("\n");
  return permits.length === 0 ? text : `${text}\n${columns(HEADING, permits.map(rowOf), width)}`;
}

function rowOf(permit: InspectedPermit): string[] {
  const { owner = "", weight, fence, leaseMs, endsInMs, session, holder, appearsExpired } = permit;
  return [
    `${owner}${appearsExpired ? " (dead)" : ""}`,
    ...[String(weight), String(fence), seconds(leaseMs)],
    endsInMs === undefined ? "" : endText(endsInMs),
    ...[session, holder],
  ];
}

/** A change of a record with permits between two reads. */
interface PermitChange {
  readonly change: "seen" | "granted" | "silent" | "released" | "limit" | "gone";
  /** The permit that the change is about; undefined for a change of the record. */
  readonly permit: InspectedPermit | undefined;
}

/** The changes between two reads; without `before` the first. Grants and releases in between are not visible. Pure. */
export function permitChanges(
  before: PermitInspection | undefined,
  after: PermitInspection,
): PermitChange[] {
  if (before === undefined) return [{ change: "seen", permit: undefined }];
  // A scan may be older than the last read.
  if ((after.version ?? before.version ?? 0n) < (before.version ?? 0n)) return [];
  if (after.state === "absent") {
    return before.state === "absent" ? [] : [{ change: "gone", permit: undefined }];
  }
  const old = new Map(before.permits.map((permit) => [permit.holder, permit]));
  const now = new Set(after.permits.map(({ holder }) => holder));
  const changes: PermitChange[] = [];
  for (const permit of before.permits) {
    if (!now.has(permit.holder)) changes.push({ change: "released", permit });
  }
  for (const permit of after.permits) {
    const known = old.get(permit.holder);
    if (known === undefined) changes.push({ change: "granted", permit });
    else if (permit.appearsExpired && !known.appearsExpired) {
      changes.push({ change: "silent", permit });
    }
  }
  if (before.limit !== after.limit) changes.push({ change: "limit", permit: undefined });
  return changes;
}

/** One line about a change. */
export function permitChangeText(
  { name, used, limit }: PermitInspection,
  permit?: InspectedPermit,
) {
  const state = `${shown(name)}  ${used} of ${limit ?? "?"} in use`;
  if (permit === undefined) return state;
  const { owner = "unnamed", holder, weight, fence } = permit;
  return `${state}, fence ${fence}, weight ${weight}, ${shown(owner)} (${holder})`;
}
