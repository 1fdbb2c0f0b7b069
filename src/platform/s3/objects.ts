import type { Call, Misconfigured, NotNow, Unknown } from "../table.js";

/**
 * What committing an object needs of an object store, and no more. Every call answers with a closed
 * union, as the table's port does: nothing is an exception, and what nobody knows is `unknown`.
 */

/** A body that can be read once only. */
export interface StreamBody {
  /** A Node.js `Readable`, or any async iterable of bytes. */
  readonly stream: AsyncIterable<Uint8Array>;
  /** How many bytes will come; a store wants to know before the first. */
  readonly length: number;
}

/** What the store says of an object. */
export interface ObjectHead {
  /** As in the answer's header, with its quotation marks. */
  readonly etag: string;
  /** Of the body, in bytes. */
  readonly size: number;
  /** The id of the commit that wrote it, where a committer of this library did. */
  readonly commitId: string | undefined;
  /** The user's own metadata, without that id. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly contentType: string | undefined;
  /** Content encoding, cache control and the like, under the names that the SDK gives them. */
  readonly system: Readonly<Record<string, string>>;
}

/** What a write asks of the object that is there, by headers. A store may ignore them. */
export interface ObjectConditions {
  /** `If-None-Match: *`. */
  readonly ifAbsent?: boolean | undefined;
  /** `If-Match`. */
  readonly ifMatch?: string | undefined;
}

/** Writes a whole object. */
export interface ObjectPut extends ObjectConditions {
  readonly key: string;
  readonly body: Uint8Array | StreamBody;
  readonly commitId: string;
  readonly contentType?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** As in {@link ObjectHead}. */
  readonly system?: Readonly<Record<string, string>> | undefined;
  /** Called as the bytes of a stream are handed on, with how many were so far. */
  readonly onBytes?: ((sent: number) => void) | undefined;
}

/** Copies a whole object within the bucket, if the source is still the one that was looked at. */
export interface ObjectCopy extends ObjectConditions {
  readonly from: string;
  readonly source: ObjectHead;
  readonly key: string;
  readonly commitId: string;
}

/** Deletes an object. */
export interface ObjectRemoval extends ObjectConditions {
  readonly key: string;
}

/** The answers that every kind of request can get. */
export type ObjectTrouble = Unknown | NotNow | Misconfigured;

/** There is no such object: for a write with `ifMatch` the one to replace, for a copy its source. */
export interface ObjectAbsent {
  readonly kind: "absent";
}

/** A condition did not hold, so nothing was written. */
export interface ObjectRefused {
  readonly kind: "refused";
  /** The client sent the request more than once, so an earlier send of it may have been applied. */
  readonly isRepeated?: boolean;
}

/** What a question about an object is answered with. */
export type HeadAnswer =
  | { readonly kind: "found"; readonly head: ObjectHead }
  | ObjectAbsent
  | ObjectTrouble;

/** What a read of a whole object is answered with. */
export type GetAnswer =
  | { readonly kind: "found"; readonly head: ObjectHead; readonly body: Uint8Array }
  | ObjectAbsent
  | ObjectTrouble;

/** What a write is answered with; `etag` is empty after a removal. */
export type StoreAnswer =
  | { readonly kind: "stored"; readonly etag: string }
  | ObjectAbsent
  | ObjectRefused
  | ObjectTrouble;

/** One bucket, as the committer sees it. */
export interface ObjectPort {
  head(key: string, call: Call): Promise<HeadAnswer>;
  get(key: string, call: Call): Promise<GetAnswer>;
  put(put: ObjectPut, call: Call): Promise<StoreAnswer>;
  copy(copy: ObjectCopy, call: Call): Promise<StoreAnswer>;
  remove(removal: ObjectRemoval, call: Call): Promise<StoreAnswer>;
}

/** The metadata entry that tells by which commit an object was written. */
export const COMMIT_METADATA = "holdfast-commit";
