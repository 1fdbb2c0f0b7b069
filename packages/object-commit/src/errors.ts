import { HoldfastError, isHoldfastError } from "holdfast";
import { causeText, type NoAnswer, noAnswerText, type ObjectHead, shown } from "holdfast/internal";
import type { Patience } from "./context.js";
import type { CommitRecord, CommitTarget } from "./format.js";

/** All errors of a committer, each in one place. */

interface SdkError {
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** The condition was false; nothing was written. */
export function unmet(target: CommitTarget, found: ObjectHead | undefined): HoldfastError {
  const { key, etag } = target;
  if (etag === undefined) {
    return new HoldfastError(
      "already-exists",
      `Object "${key}" was not created: it exists already, with ETag ${found?.etag}.`,
      { objectKey: key, etag: found?.etag },
    );
  }
  const what = found === undefined ? "there is no object" : `its ETag is ${found.etag}`;
  const hint = found?.etag === `"${etag}"` ? "; give an ETag with its quotation marks" : "";
  return new HoldfastError(
    "precondition-failed",
    `Object "${key}" was not changed: ETag ${etag} was expected, but ${what}${hint}. Read the object, and decide again.`,
    { objectKey: key, etag: found?.etag },
  );
}

/** The source of a copy does not exist. */
export function sourceMissing(from: string, to: string): HoldfastError {
  return new HoldfastError(
    "not-found",
    `Object "${from}" was not copied to "${to}": the source does not exist. Check its key.`,
    { objectKey: from },
  );
}

/** The source of a copy was replaced during the copy. */
export function sourceChanged(from: string, to: string, etag: string): HoldfastError {
  return new HoldfastError(
    "precondition-failed",
    `Object "${from}" was not copied to "${to}": the source no longer has ETag ${etag}. Copy it again.`,
    { objectKey: from },
  );
}

/**
 * A rename copied the object, and its delete of the source failed. Never the code of an operation that wrote nothing: who
 * repeats the rename because of it finds the copy in the way.
 */
export function halfRenamed(
  from: string,
  to: { readonly key: string; readonly commitId: string },
  cause: unknown,
): HoldfastError {
  const unmet = isHoldfastError(cause, "precondition-failed") ? cause : undefined;
  const why = isHoldfastError(cause) ? ` (${cause.code})` : causeText(cause);
  return new HoldfastError(
    unmet?.code ?? "outcome-unknown",
    `Object "${from}" was copied to "${to.key}", but then the delete of "${from}" failed${why}. Read both objects, and ` +
      "delete the one that you do not need.",
    { objectKey: from, etag: unmet?.etag, commitId: to.commitId, cause },
  );
}

/** The store did not answer a send, and a later read did not show the outcome. */
export function outcomeUnknown(
  target: CommitTarget,
  commitId: string,
  cause: unknown,
): HoldfastError {
  return new HoldfastError(
    "outcome-unknown",
    `It is not known whether object "${target.key}" was written: the answer was lost, and a later read did not ` +
      `show the write. Read the object. If its commit is ${commitId}, the write was applied. If not, the write ` +
      "may still be applied, or another write may have replaced it. Then decide by the object's content, or write " +
      "again if writing twice is safe.",
    { objectKey: target.key, commitId, cause },
  );
}

/** The store did not answer a delete, and a later read did not show whose delete was applied, if any. */
export function deletionUnknown({ key, etag }: CommitTarget, cause: unknown): HoldfastError {
  return new HoldfastError(
    "outcome-unknown",
    `It is not known whether this writer deleted object "${key}" with ETag ${etag}: the answer was lost, and a later ` +
      "read did not show it. If the object is gone, another writer may have deleted it. If not, it may still be " +
      "deleted. Read the object, and decide again.",
    { objectKey: key, cause },
  );
}

/** The record expired before the committer could send the write. */
export function leaseRanOut(target: CommitTarget, timeoutMs: number): HoldfastError {
  return new HoldfastError(
    "lost",
    `Object "${target.key}" was not written: this writer's commit record expired after ${timeoutMs} ms, ` +
      "before the write could be sent. Try again, or choose a longer `timeout`.",
    { objectKey: target.key, reason: "expired" },
  );
}

/** Another writer's record outlasted the wait. */
export function recordTaken(
  target: CommitTarget,
  { waitMs, waitsForOthers }: Pick<Patience, "waitMs" | "waitsForOthers">,
  record: CommitRecord | undefined,
): HoldfastError {
  const who =
    record === undefined
      ? "other writers took its commit record in turn"
      : `${shown(record.owner ?? "another writer")} holds its commit record (generation ${record.generation})`;
  return new HoldfastError(
    "not-acquired",
    `Object "${target.key}" was not written${waitsForOthers ? ` within ${waitMs} ms` : ""}: ${who}. Nothing was written. Try again later, or wait longer.`,
    { objectKey: target.key },
  );
}

/** Says how the store or the table declined every request, with the status of the last answer. */
function declinedText(where: string, { kind, cause }: NoAnswer): string {
  const { httpStatusCode: status } = (cause as SdkError | undefined)?.$metadata ?? {};
  const said = causeText(cause);
  if (status === 412 || status === 304) {
    return (
      `the ${where} refused every request${said}, although the condition was true. ` +
      "Check that the store supports conditional writes: probe() shows it."
    );
  }
  if (status === 409 || kind === "conflict") {
    return `the ${where} answered every request with a conflict${said}. Wait longer, or look for another writer of the object.`;
  }
  return `the ${where} throttled every request${said || ` (${kind})`}. Wait longer, or send fewer requests.`;
}

/** The store or the table does not answer, or declines every request; nothing was written, or read. */
export function onNoResponse(
  target: CommitTarget,
  where: "object store" | "table",
  trouble: NoAnswer,
  what: "written" | "read" = "written",
): HoldfastError {
  const isSilent = trouble.kind === "unknown" || trouble.kind === "skewed";
  const why = isSilent
    ? `the ${where} does not answer${noAnswerText(trouble)}. Check the endpoint, the region and the network.`
    : declinedText(where, trouble);
  return new HoldfastError(
    isSilent ? "unreachable" : "throttled",
    `Object "${target.key}" was not ${what}: ${why}`,
    { objectKey: target.key, cause: trouble.cause },
  );
}
