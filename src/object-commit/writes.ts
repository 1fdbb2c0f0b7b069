import type { CommitTarget } from "../formats/object-commit.js";
import type { ObjectHead, ObjectPut, StreamBody } from "../platform/s3/objects.js";
import type { Around } from "./around.js";
import { sourceChanged, sourceMissing } from "./errors.js";
import type { ObjectWrite } from "./settle.js";

/** What a put says beside its body. */
export interface PutContent {
  readonly body: Uint8Array | StreamBody;
  readonly contentType: string | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly system?: ObjectPut["system"];
  readonly onBytes?: ObjectPut["onBytes"];
}

const conditionsOf = ({ etag }: CommitTarget, withConditions: boolean) =>
  withConditions ? (etag === undefined ? { ifAbsent: true } : { ifMatch: etag }) : {};

/** Puts an object, with the commit's id in its metadata. */
export function putWrite(
  { objects }: Around,
  target: CommitTarget,
  content: PutContent,
  commitId: string,
): ObjectWrite {
  return {
    target,
    commitId,
    canRepeat: content.body instanceof Uint8Array,
    isDone: (found) => found?.commitId === commitId,
    send: (withConditions, call) =>
      objects.put(
        { ...content, key: target.key, commitId, ...conditionsOf(target, withConditions) },
        call,
      ),
  };
}

/** Copies an object as it was looked at, within the store, with the commit's id in its metadata. */
export function copyWrite(
  { objects }: Around,
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
    send: (withConditions, call) =>
      objects.copy({ from, source, key, commitId, ...conditionsOf(target, withConditions) }, call),
    explain: (answer) =>
      answer === "absent" ? sourceMissing(from, key) : sourceChanged(from, key, source.etag),
  };
}

/** Deletes exactly the object with this ETag. */
export function removeWrite(
  { objects }: Around,
  target: CommitTarget,
  commitId: string,
): ObjectWrite {
  return {
    target,
    commitId,
    canRepeat: true,
    isDone: (found) => found === undefined,
    send: (withConditions, call) =>
      objects.remove({ key: target.key, ...conditionsOf(target, withConditions) }, call),
  };
}
