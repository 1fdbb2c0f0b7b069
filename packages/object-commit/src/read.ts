import { type NoAnswer, type ObjectHead, serialisable } from "holdfast/internal";
import { type CommitContext, callWithin, type Limit, retryWithin } from "./context.js";
import { isMet } from "./decide.js";
import { onNoResponse, unmet } from "./errors.js";
import { type CommitRecord, type CommitTarget, commitKeyOf, readCommit } from "./format.js";

/** An object with its body. */
export interface ReadObject {
  readonly key: string;
  readonly etag: string;
  readonly body: Uint8Array;
  readonly contentType: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** The id of the commit that wrote the object; undefined for an object of another writer. */
  readonly commitId: string | undefined;
}

/** A commit record in the table. */
export interface InspectedRecord {
  /** The ETag of the object to change. Undefined for the record of a create. */
  readonly etag: string | undefined;
  readonly generation: bigint;
  /** How long the record's writer may act; 0 once no writer acts on the record. */
  readonly timeoutMs: number;
  readonly owner: string | undefined;
  /** The id of the commit; undefined for a record of the Rust crate. */
  readonly commitId: string | undefined;
}

/** The state of an object and of its commit records. */
export interface ObjectInspection {
  readonly key: string;
  /** Undefined if there is no object. */
  readonly object: (Omit<ReadObject, "key" | "body"> & { readonly size: number }) | undefined;
  /** The record of a create, and the record of a change of the present object. */
  readonly records: readonly InspectedRecord[];
}

/** Reads a whole object, with retries. Resolves to undefined if there is no object. */
export async function readObject(
  context: CommitContext,
  key: string,
  limit: Limit,
): Promise<ReadObject | undefined> {
  const found = await fetchObject(context, key, limit);
  return found && { key, body: found.body, ...shown(found.head) };
}

/** Reads an object with all its headers. */
export async function fetchObject(
  context: CommitContext,
  key: string,
  limit: Limit,
): Promise<{ readonly head: ObjectHead; readonly body: Uint8Array } | undefined> {
  const { transferTimeoutMs } = context.settings;
  const ask = () => context.objects.get(key, callWithin(limit, transferTimeoutMs));
  const asked = await retryWithin(context, limit, ask);
  if (asked.kind === "over") {
    limit.signal?.throwIfAborted();
    throw onNoResponse({ key, etag: undefined }, "object store", asked.trouble as NoAnswer, "read");
  }
  return asked.answer.kind === "found" ? asked.answer : undefined;
}

/** Reads the head of an object, and each record by a strongly consistent read if there is a table. */
export async function inspectObject(
  context: CommitContext,
  key: string,
  limit: Limit,
): Promise<ObjectInspection> {
  const found = await readHead(context, key, limit);
  if (found.kind === "trouble") {
    limit.signal?.throwIfAborted();
    throw onNoResponse({ key, etag: undefined }, "object store", found.trouble, "read");
  }
  const { head } = found;
  const etags = [undefined, ...(head === undefined ? [] : [head.etag])];
  const records = await Promise.all(etags.map((etag) => recordOf(context, key, etag, limit)));
  return {
    key,
    object: head && { size: head.size, ...shown(head) },
    records: records.filter((record) => record !== undefined),
  };
}

async function recordOf(
  context: CommitContext,
  key: string,
  etag: string | undefined,
  limit: Limit,
): Promise<InspectedRecord | undefined> {
  const target = { key, etag };
  const { table, settings } = context;
  if (table === undefined) return undefined;
  const request = { key: commitKeyOf(target), consistent: true };
  const asked = await retryWithin(context, limit, () =>
    table.read(request, callWithin(limit, settings.requestTimeoutMs)),
  );
  if (asked.kind === "over") {
    limit.signal?.throwIfAborted();
    throw onNoResponse(target, "table", asked.trouble as NoAnswer, "read");
  }
  const { item } = asked.answer;
  return item && inspected(etag, readCommit(target, item));
}

function inspected(etag: string | undefined, record: CommitRecord): InspectedRecord {
  const { generation, timeoutMs, owner, token } = record;
  return serialisable({ etag, generation, timeoutMs, owner, commitId: token });
}

function shown({ etag, contentType, metadata, commitId }: ObjectHead) {
  return { etag, contentType, metadata, commitId };
}

/** The result of reading an object's head; `trouble` if the store answered no read within the limit. */
type HeadRead =
  | { readonly kind: "seen"; readonly head: ObjectHead | undefined }
  | { readonly kind: "trouble"; readonly trouble: NoAnswer; readonly isCutShort: boolean };

/** Reads an object's head with one HEAD request, and retries if no answer comes. Throws on a wrong configuration. */
export async function readHead(
  context: CommitContext,
  key: string,
  limit: Limit,
): Promise<HeadRead> {
  const { requestTimeoutMs } = context.settings;
  const ask = () => context.objects.head(key, callWithin(limit, requestTimeoutMs));
  const asked = await retryWithin(context, limit, ask);
  if (asked.kind === "over") {
    const { isCutShort } = asked;
    return { kind: "trouble", trouble: asked.trouble as NoAnswer, isCutShort };
  }
  const { answer } = asked;
  return { kind: "seen", head: answer.kind === "found" ? answer.head : undefined };
}

/**
 * Reads the object, and throws unless it meets the caller's condition.
 *
 * Throws `already-exists` or `precondition-failed`, or, if the store does not answer, `unreachable` or `throttled`. If
 * the limit ended the read early, calls `onCutShort` first. `onCutShort` may throw the caller's own error instead.
 */
export async function expectMet(
  context: CommitContext,
  target: CommitTarget,
  limit: Limit,
  onCutShort: () => void = () => undefined,
): Promise<void> {
  const found = await readHead(context, target.key, limit);
  if (found.kind === "trouble") {
    limit.signal?.throwIfAborted();
    if (found.isCutShort) onCutShort();
    throw onNoResponse(target, "object store", found.trouble);
  }
  if (!isMet(target, found.head)) throw unmet(target, found.head);
}
