import { type CommitRecord, commitKeyOf, readCommit } from "../formats/object-commit.js";
import type { ObjectHead } from "../platform/s3/objects.js";
import { type Around, callWithin, type Limit, Pauses } from "./around.js";
import { onNoResponse } from "./errors.js";
import { look } from "./look.js";

/** An object with its body. */
export interface ReadObject {
  readonly key: string;
  readonly etag: string;
  readonly body: Uint8Array;
  readonly contentType: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** The commit that wrote it, where a committer of this library did. */
  readonly commitId: string | undefined;
}

/** A commit record that stands in the table. */
export interface InspectedRecord {
  /** Undefined: the record of a create. */
  readonly etag: string | undefined;
  readonly generation: bigint;
  /** For how long its writer may act; 0: nobody does any more. */
  readonly timeoutMs: number;
  readonly owner: string | undefined;
  /** The id of its commit; undefined where the Rust crate wrote it. */
  readonly commitId: string | undefined;
}

/** What is known of an object and of who is about to write it. */
export interface ObjectInspection {
  readonly key: string;
  /** Undefined: there is none. */
  readonly object: (Omit<ReadObject, "key" | "body"> & { readonly size: number }) | undefined;
  /** Of the create, and of the change of the object as it is. */
  readonly records: readonly InspectedRecord[];
}

/** Reads a whole object, again where it fails; undefined: there is none. */
export async function readObject(
  around: Around,
  key: string,
  limit: Limit,
): Promise<ReadObject | undefined> {
  const found = await fetchObject(around, key, limit);
  return found && { key, body: found.body, ...shown(found.head) };
}

/** The same with everything that the store says of it. */
export async function fetchObject(
  around: Around,
  key: string,
  limit: Limit,
): Promise<{ readonly head: ObjectHead; readonly body: Uint8Array } | undefined> {
  for (const pauses = new Pauses(around, limit); ; ) {
    const answer = await around.objects.get(
      key,
      callWithin(limit, around.settings.transferTimeoutMs),
    );
    if (answer.kind === "found") return answer;
    if (answer.kind === "absent") return undefined;
    if (answer.kind === "misconfigured") throw answer.error;
    await pauses.wait();
    limit.signal?.throwIfAborted();
    if (limit.remainingMs() <= 0) {
      throw onNoResponse({ key, etag: undefined }, "object store", answer);
    }
  }
}

/** One HEAD, and a strong read of each record where there is a table. */
export async function inspectObject(
  around: Around,
  key: string,
  limit: Limit,
): Promise<ObjectInspection> {
  const looked = await look(around, key, limit);
  if (looked.kind === "trouble") {
    limit.signal?.throwIfAborted();
    throw onNoResponse({ key, etag: undefined }, "object store", looked.trouble);
  }
  const { head } = looked;
  const etags = [undefined, ...(head === undefined ? [] : [head.etag])];
  const records = await Promise.all(etags.map((etag) => recordOf(around, key, etag, limit)));
  return {
    key,
    object: head && { size: head.size, ...shown(head) },
    records: records.filter((record) => record !== undefined),
  };
}

async function recordOf(
  around: Around,
  key: string,
  etag: string | undefined,
  limit: Limit,
): Promise<InspectedRecord | undefined> {
  const target = { key, etag };
  const answer = await around.table?.read(
    { key: commitKeyOf(target), consistent: true },
    callWithin(limit, around.settings.requestTimeoutMs),
  );
  if (answer === undefined) return undefined;
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "found") throw onNoResponse(target, "table", answer);
  return answer.item && inspected(etag, readCommit(target, answer.item));
}

function inspected(etag: string | undefined, record: CommitRecord): InspectedRecord {
  const { generation, timeoutMs, owner, token } = record;
  return { etag, generation, timeoutMs, owner, commitId: token };
}

function shown({ etag, contentType, metadata, commitId }: ObjectHead) {
  return { etag, contentType, metadata, commitId };
}
