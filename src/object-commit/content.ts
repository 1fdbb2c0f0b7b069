import { HoldfastError } from "../errors.js";
import { COMMIT_METADATA, type StreamBody } from "../platform/s3/objects.js";
import type { PutContent } from "./writes.js";

/**
 * What an object is to hold: text (as UTF-8), bytes, or a stream with its length in bytes. A stream is
 * read once, and never sent twice: where a second send would be needed, the operation fails instead.
 */
export type ObjectBody = string | Uint8Array | StreamBody;

/** How far a body has been sent. */
export interface Progress {
  readonly sentBytes: number;
  readonly totalBytes: number;
}

/** Options of every operation. */
export interface OperationOptions {
  /**
   * Ends the operation. It rejects with the signal's reason if nothing was written, and with
   * `outcome-unknown` if something was sent whose answer had not come.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a put. */
export interface PutOptions extends OperationOptions {
  readonly contentType?: string | undefined;
  /** The user's own metadata; printable ASCII. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /**
   * Called as the bytes of a stream are taken by the connection. For text and bytes once, at the end:
   * they are handed over whole.
   */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** The body and its headers, checked. Throws `invalid-argument`. */
export function contentOf(given: ObjectBody, options: PutOptions): PutContent {
  const body = bodyOf(given);
  const { contentType, onProgress } = options;
  return {
    body,
    contentType,
    metadata: checkMetadata(options.metadata),
    onBytes: onProgress && ((sentBytes) => onProgress({ sentBytes, totalBytes: body.length })),
  };
}

function bodyOf(given: ObjectBody): Uint8Array | StreamBody {
  if (typeof given === "string") return Buffer.from(given);
  if (given instanceof Uint8Array) return given;
  const { stream, length } = (given ?? {}) as Partial<StreamBody>;
  if (
    typeof stream?.[Symbol.asyncIterator] === "function" &&
    Number.isSafeInteger(length) &&
    (length ?? -1) >= 0
  ) {
    return given;
  }
  throw new HoldfastError(
    "invalid-argument",
    "The body of an object must be a text, bytes, or { stream, length } with an async iterable of " +
      "bytes and how many there will be.",
  );
}

function checkMetadata(metadata: PutOptions["metadata"]): PutOptions["metadata"] {
  for (const [name, value] of Object.entries(metadata ?? {})) {
    // Stores fold the names of metadata, and headers carry nothing but ASCII.
    const isTaken = name.toLowerCase() === COMMIT_METADATA;
    if (!isTaken && /^[\x21-\x7e]+$/.test(name) && /^[\x20-\x7e]*$/.test(value)) continue;
    throw new HoldfastError(
      "invalid-argument",
      isTaken
        ? `The metadata \`${COMMIT_METADATA}\` is the committer's own.`
        : `The metadata \`${name}\` must be printable ASCII.`,
    );
  }
  return metadata;
}
