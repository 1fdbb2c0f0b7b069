import type { ObjectHead, ObjectPut, StreamBody } from "holdfast/internal";
import type { CommitContext } from "./context.js";
import { deletionUnknown, outcomeUnknown, sourceChanged, sourceMissing } from "./errors.js";
import type { CommitTarget } from "./format.js";
import type { ObjectWrite } from "./settle.js";

/** The body and headers of a put. */
export interface PutContent {
  readonly body: Uint8Array | StreamBody;
  readonly contentType: string | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly system?: ObjectPut["system"];
  readonly onBytes?: ObjectPut["onBytes"];
}

const conditionsOf = ({ etag }: CommitTarget, withConditions: boolean) =>
  withConditions ? (etag === undefined ? { ifAbsent: true } : { ifMatch: etag }) : {};

/** Builds a put, with the commit's id in the metadata. */
export function putWrite(
  { objects }: CommitContext,
  target: CommitTarget,
  content: PutContent,
  commitId: string,
): ObjectWrite {
  return {
    target,
    commitId,
    canRepeat: content.body instanceof Uint8Array,
    isDone: (found) => found?.commitId === commitId,
    inDoubt: (cause) => outcomeUnknown(target, commitId, cause),
    send: (withConditions, call) =>
      objects.put(
        { ...content, key: target.key, commitId, ...conditionsOf(target, withConditions) },
        call,
      ),
  };
}

/** Builds a copy of the object as read, within the store, with the commit's id in the metadata. */
export function copyWrite(
  { objects }: CommitContext,
  from: string,
  source: ObjectHead,
  key: string,
  commitId: string,
): ObjectWrite {
  const target: CommitTarget = { key, etag: undefined };
  return {
    target,
    commitId,
    canRepeat: true,
    isDone: (found) => found?.commitId === commitId,
    inDoubt: (cause) => outcomeUnknown(target, commitId, cause),
    send: (withConditions, call) =>
      objects.copy({ from, source, key, commitId, ...conditionsOf(target, withConditions) }, call),
    explain: (answer) =>
      answer === "absent" ? sourceMissing(from, key) : sourceChanged(from, key, source.etag),
  };
}

/**
 * Builds a delete of exactly the object with this ETag.
 *
 * An absent object does not show who deleted it. `byAnyone`: the caller wants the object gone, whoever deletes it.
 */
export function removeWrite(
  { objects }: CommitContext,
  target: CommitTarget,
  commitId: string,
  byAnyone: boolean,
): ObjectWrite {
  return {
    target,
    commitId,
    canRepeat: true,
    isDone: (found, isOnlyWriter) => found === undefined && (byAnyone || isOnlyWriter),
    inDoubt: (cause) => deletionUnknown(target, cause),
    send: (withConditions, call) =>
      objects.remove({ key: target.key, ...conditionsOf(target, withConditions) }, call),
  };
}
