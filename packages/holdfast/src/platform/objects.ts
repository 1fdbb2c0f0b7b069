import type { Call, Misconfigured, NotNow, Unknown } from "./table.js";

/**
 * The port to an object store, with only the requests that a commit needs. As with the table port, the answer to a call
 * is one of a closed union, and no call throws. If the outcome of a request is not known, the answer is `unknown`.
 */

/** A body that can be read only once. */
export interface StreamBody {
  /** A Node.js `Readable`, or any async iterable of bytes. */
  readonly stream: AsyncIterable<Uint8Array>;
  /** The length in bytes; a store needs the length before the first byte. */
  readonly length: number;
}

/** The metadata of an object. */
export interface ObjectHead {
  /** The ETag as in the answer's header, with its quotation marks. */
  readonly etag: string;
  /** The size of the body, in bytes. */
  readonly size: number;
  /** The id of the commit that wrote the object, if a committer of this library wrote the object. */
  readonly commitId: string | undefined;
  /** The user's metadata, without the commit id. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly contentType: string | undefined;
  /** Content encoding, cache control and similar headers, under the SDK's names. */
  readonly system: Readonly<Record<string, string | Date>>;
}

/** Conditions of a write, sent as headers. A store may ignore them. */
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
  readonly system?: ObjectHead["system"] | undefined;
  /** The port calls this after each part of a stream that it has passed on, with the number of bytes until then. */
  readonly onBytes?: ((sent: number) => void) | undefined;
}

/** A copy of a whole object within the bucket, conditional on the source's ETag. */
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

/** The failures that every kind of request can have. */
export type ObjectTrouble = Unknown | NotNow | Misconfigured;

/**
 * The object does not exist. In the answer to a write with `ifMatch`, this is the object to replace. In the answer to a
 * copy, this is the source.
 */
export interface ObjectAbsent {
  readonly kind: "absent";
}

/** A condition was false, so nothing was written. */
export interface ObjectRefused {
  readonly kind: "refused";
  /** The error of the client, for messages. */
  readonly cause?: unknown;
  /** The client sent the request more than once, so an earlier send may have been applied. */
  readonly isRepeated?: boolean;
}

/** The answer to a HEAD request. */
export type HeadAnswer =
  | { readonly kind: "found"; readonly head: ObjectHead }
  | ObjectAbsent
  | ObjectTrouble;

/** The answer to a read of a whole object. */
export type GetAnswer =
  | { readonly kind: "found"; readonly head: ObjectHead; readonly body: Uint8Array }
  | ObjectAbsent
  | ObjectTrouble;

/** The answer to a write; `etag` is empty after a delete. */
export type StoreAnswer =
  | { readonly kind: "stored"; readonly etag: string }
  | ObjectAbsent
  | ObjectRefused
  | ObjectTrouble;

/** The port to one bucket. */
export interface ObjectPort {
  head(key: string, call: Call): Promise<HeadAnswer>;
  get(key: string, call: Call): Promise<GetAnswer>;
  put(put: ObjectPut, call: Call): Promise<StoreAnswer>;
  copy(copy: ObjectCopy, call: Call): Promise<StoreAnswer>;
  remove(removal: ObjectRemoval, call: Call): Promise<StoreAnswer>;
}

/** The metadata entry with the id of the commit that wrote the object. */
export const COMMIT_METADATA = "holdfast-commit";
