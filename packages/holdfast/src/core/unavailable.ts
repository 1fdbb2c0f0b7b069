import { type ErrorCode, HoldfastError, isHoldfastError } from "../errors.js";
import { noAnswerText } from "../internal/cause-text.js";
import { valueText } from "../internal/value-text.js";
import type { NoAnswer } from "../platform/retry.js";
import type { Queued } from "./admission.js";
import type { Kind, RecordRef } from "./record/format.js";
import type { UnreadableRecord } from "./record/record.js";

/** What messages say about a record. */
type Named = Pick<RecordRef, "name" | "kind">;

/** Why the last request had no result. */
export type Unavailable = NoAnswer | Queued;

/** Returns the error of a call whose requests DynamoDB did not answer, or refused for now. */
export function unavailableError(
  name: string,
  whatFailed: string,
  unavailable: Unavailable,
  title = `Lock "${name}"`,
): HoldfastError {
  if (unavailable.kind === "denied") return unavailable.cause;
  const { code, why, advice } = troubleOf(unavailable);
  const unsure = unavailable.kind === "queued" ? "" : " The state in the table is not known.";
  return new HoldfastError(code, `${title} ${whatFailed}: ${why}. ${advice}${unsure}`, {
    lockName: name,
    cause: unavailable.cause,
  });
}

/** Says why DynamoDB served no request, and what helps. */
export function troubleOf(unavailable: Exclude<Unavailable, { readonly kind: "denied" }>): {
  readonly code: ErrorCode;
  readonly why: string;
  readonly advice: string;
} {
  switch (unavailable.kind) {
    case "unknown":
      return {
        code: "unreachable",
        why: `the table does not answer${noAnswerText(unavailable)}`,
        advice: "Check the endpoint, the region and the network.",
      };
    case "skewed":
      return {
        code: "unreachable",
        why: "DynamoDB refused every request, because the time in its signature is wrong",
        advice: "Set the clock of this machine.",
      };
    case "queued":
      return {
        code: "throttled",
        why:
          `its request was not sent. This client sends ${unavailable.most} requests at once, and ` +
          `${unavailable.waiting} more wait for their turn`,
        advice: "Acquire fewer locks at the same time, or wait longer.",
      };
    default:
      return {
        code: "throttled",
        why: `DynamoDB refused every request (${unavailable.kind})`,
        advice: "Give the table more capacity, or wait longer.",
      };
  }
}

/**
 * Returns the error of an acquisition without a wait if DynamoDB answers too slowly: reads succeed, but each grant took
 * longer than half of the lease. `silence` is the error of the last attempt. Returns a `throttled` error unchanged,
 * because a throttled table needs more capacity, and not a longer lease.
 */
export function tooSlow(
  names: readonly string[],
  leaseMs: number,
  silence: unknown,
  kind?: Kind,
): unknown {
  if (isHoldfastError(silence, "throttled")) return silence;
  return new HoldfastError(
    "unreachable",
    `${titleOf(names, kind)} was not acquired: the table's answers take longer than a lease of ${leaseMs} ms allows. Use a longer ` +
      "`lease`, or find out why.",
    { lockName: names.join(", "), cause: silence },
  );
}

const WORDS: Readonly<Record<Kind, string>> = /* @__PURE__ */ Object.freeze({
  lock: "Lock",
  leader: "Lock",
  once: "Lock",
  session: "Session",
  semaphore: "Semaphore",
  "read-write": "Read-write lock",
});

/** Names a record within a sentence, such as `semaphore "a"`. */
export function phraseOf({ name, kind }: Named): string {
  const title = titleOf([name], kind);
  return title.charAt(0).toLowerCase() + title.slice(1);
}

/** The error for `onError` of a callback that threw while the client works for the record. */
export function threwError(callback: string, ref: Named, cause: unknown): HoldfastError {
  const what = cause instanceof Error ? cause.message : valueText(cause);
  const message = `The \`${callback}\` callback of ${phraseOf(ref)} threw: ${what}`;
  return new HoldfastError("outcome-unknown", message, { lockName: ref.name, cause });
}

/** Returns the subject of messages about these names, such as `Lock "a"` or `Multi-lock "a", "b"`. */
export function titleOf(names: readonly string[], kind: Kind = "lock"): string {
  return `${names.length === 1 ? WORDS[kind] : "Multi-lock"} ${names.map((name) => `"${name}"`).join(", ")}`;
}

/**
 * Returns the error of a record that the client must not change (R12). `wasClaimed`: DynamoDB may have applied a claim
 * to the record.
 */
export function unreadable(
  ref: Named,
  found: UnreadableRecord,
  format: string,
  wasClaimed = false,
): HoldfastError {
  // The condition of a claim cannot test whether a number is whole, so DynamoDB can apply a claim to a foreign record.
  const written = wasClaimed
    ? "The claim was applied, and the client undoes the claim"
    : "Nothing was written";
  return found.state === "foreign"
    ? new HoldfastError(
        "foreign-record",
        `The record of ${phraseOf(ref)} ${found.found}, so it is not of format "${format}". ` +
          `${written}. Use another table or name, or the format of the client that wrote it.`,
        { lockName: ref.name },
      )
    : new HoldfastError(
        "unsupported-layout",
        `The record of ${phraseOf(ref)} ${found.found}, which this version of holdfast does not know. ` +
          "Nothing was written. Upgrade to the version that wrote it.",
        { lockName: ref.name },
      );
}

/** Whether the table did not serve a call, and may serve the next attempt. */
export function isOutageError(error: unknown): error is HoldfastError {
  return isHoldfastError(error, "unreachable") || isHoldfastError(error, "throttled");
}
