import { HoldfastError } from "../errors.js";
import type { CommitRecord, CommitTarget } from "../formats/object-commit.js";
import { causeText } from "../internal/cause-text.js";
import { shown } from "../internal/shown.js";
import type { ObjectHead } from "../platform/s3/objects.js";
import type { NotNow, Unknown } from "../platform/table.js";

/** One home for each thing that a committer says when it fails. */

/** The target was not as the caller demanded; nothing was written. */
export function unmet(target: CommitTarget, found: ObjectHead | undefined): HoldfastError {
  const { key, etag } = target;
  if (etag === undefined) {
    return new HoldfastError(
      "already-exists",
      `Object "${key}" was not created: there is one already, with ETag ${found?.etag}.`,
      { objectKey: key, etag: found?.etag },
    );
  }
  const what = found === undefined ? "there is no object" : `its ETag is ${found.etag}`;
  const hint = found?.etag === `"${etag}"` ? ", quotation marks and all" : "";
  return new HoldfastError(
    "precondition-failed",
    `Object "${key}" was not changed: ETag ${etag} was expected, and ${what}${hint}. Read it, and decide again.`,
    { objectKey: key, etag: found?.etag },
  );
}

/** The source of a copy is not there. */
export function sourceMissing(from: string, to: string): HoldfastError {
  return new HoldfastError(
    "not-found",
    `Object "${from}" was not copied to "${to}": there is no such object.`,
    { objectKey: from },
  );
}

/** The source of a copy was replaced while it was copied. */
export function sourceChanged(from: string, to: string, etag: string): HoldfastError {
  return new HoldfastError(
    "precondition-failed",
    `Object "${from}" was not copied to "${to}": it no longer has ETag ${etag}. Copy it again.`,
    { objectKey: from },
  );
}

/** Something was sent, and nobody can say what became of it, not even by reading back. */
export function outcomeUnknown(
  target: CommitTarget,
  commitId: string,
  cause: unknown,
): HoldfastError {
  return new HoldfastError(
    "outcome-unknown",
    `Nobody can say whether the write of object "${target.key}" took place: its answer was lost, and ` +
      `reading back did not show it. Read the object: if it was written by commit ${commitId}, it did. ` +
      "If not, it may still come, or may have been replaced: write again only what may be written twice, " +
      "or decide by the object's content.",
    { objectKey: target.key, commitId, cause },
  );
}

/** The record was taken, and its time was over before the object could be written. */
export function leaseRanOut(
  target: CommitTarget,
  timeoutMs: number,
  cause: unknown,
): HoldfastError {
  return new HoldfastError(
    "lost",
    `Object "${target.key}" was not written: the ${timeoutMs} ms for which this writer held its commit ` +
      "record were over before the write could be sent. Try again, or choose a longer `timeout`.",
    { objectKey: target.key, reason: "expired", cause },
  );
}

/** Another writer's record stood there for the whole wait. */
export function recordTaken(
  target: CommitTarget,
  waitMs: number,
  record: CommitRecord | undefined,
): HoldfastError {
  const who =
    record === undefined
      ? "its commit record changed hands all the time"
      : `${shown(record.owner ?? "another writer")} has its commit record (generation ${record.generation})`;
  return new HoldfastError(
    "not-acquired",
    `Object "${target.key}" was not written within ${waitMs} ms: ${who}. Nothing was written.`,
    { objectKey: target.key },
  );
}

/** The store, or the table, does not answer, or will not for now; nothing was written. */
export function onNoResponse(
  target: CommitTarget,
  where: "object store" | "table",
  trouble: Unknown | NotNow,
): HoldfastError {
  const isSilent = trouble.kind === "unknown" || trouble.kind === "skewed";
  const why = isSilent
    ? `the ${where} does not answer${causeText(trouble.cause)}. Check the endpoint, the region and the network.`
    : `the ${where} refused every request for now (${trouble.kind}). Wait longer, or ask less of it.`;
  return new HoldfastError(
    isSilent ? "unreachable" : "throttled",
    `Object "${target.key}" was not written: ${why}`,
    { objectKey: target.key, cause: trouble.cause },
  );
}
