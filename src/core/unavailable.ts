import { HoldfastError, isHoldfastError } from "../errors.js";
import { causeText } from "../internal/cause-text.js";
import type { NotNow, Unknown } from "../platform/table.js";
import type { UnreadableRecord } from "./record/record.js";

/** Why the last request told nothing. */
export type Unavailable = Unknown | NotNow;

/** The error for whoever asked: the table does not answer, or answers that it will not for now. */
export function unavailableError(
  name: string,
  whatFailed: string,
  trouble: Unavailable,
  title = `Lock "${name}"`,
): HoldfastError {
  const details = { lockName: name, cause: trouble.cause };
  if (trouble.kind === "unknown") {
    return new HoldfastError(
      "unreachable",
      `${title} ${whatFailed}: the table does not answer${causeText(trouble.cause)}. Check the endpoint, the region and ` +
        "the network; whether somebody holds the lock is not known.",
      details,
    );
  }
  if (trouble.kind === "skewed") {
    return new HoldfastError(
      "unreachable",
      `${title} ${whatFailed}: DynamoDB refused every request for the time of its signature. Set the clock ` +
        "of this machine; whether somebody holds the lock is not known.",
      details,
    );
  }
  return new HoldfastError(
    "throttled",
    `${title} ${whatFailed}: DynamoDB refused every request for now (${trouble.kind}). ` +
      "Give the table more capacity, or wait longer; whether somebody holds the lock is not known.",
    details,
  );
}

/**
 * The error for an acquisition without a wait, where DynamoDB answers reads, and took longer than half of the lease
 * for each attempt to grant. `silence` is the error of the last attempt: a table that was throttled needs
 * capacity, and no longer lease.
 */
export function tooSlow(names: readonly string[], leaseMs: number, silence: unknown): unknown {
  if (isHoldfastError(silence, "throttled")) return silence;
  return new HoldfastError(
    "unreachable",
    `${titleOf(names)} was not acquired: the table's answers take longer than a lease of ${leaseMs} ms allows. Use a longer ` +
      "`lease`, or find out why the answers are slow.",
    { lockName: names.join(", "), cause: silence },
  );
}

/** What an acquisition of these names is called in messages. */
export function titleOf(names: readonly string[]): string {
  return `${names.length === 1 ? "Lock" : "Multi-lock"} ${names.map((name) => `"${name}"`).join(", ")}`;
}

/** The error for a record that must not be touched (R12), though a claim may have been applied to it by then. */
export function unreadable(
  name: string,
  found: UnreadableRecord,
  format: string,
  wasClaimed = false,
): HoldfastError {
  // No condition can ask whether a number is whole.
  const written = wasClaimed
    ? "The claim was applied to it all the same, and is being undone"
    : "Nothing was written";
  return found.state === "foreign"
    ? new HoldfastError(
        "foreign-record",
        `The record of lock "${name}" ${found.found}, so it is not one of format "${format}". ` +
          `${written}. Use another table or name, or the format of the client that wrote it.`,
        { lockName: name },
      )
    : new HoldfastError(
        "unsupported-layout",
        `The record of lock "${name}" ${found.found}, which this version of holdfast does not know. ` +
          "Nothing was written. Upgrade holdfast here to the version that wrote it.",
        { lockName: name },
      );
}
