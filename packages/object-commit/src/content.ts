import { HoldfastError } from "holdfast";
import {
  COMMIT_METADATA,
  checkCallback,
  type OptionNames,
  type StreamBody,
  tell,
  valueText,
  warn,
} from "holdfast/internal";
import type { PutContent } from "./writes.js";

/**
 * The content of an object: text (as UTF-8), bytes, or a stream with its length in bytes.
 *
 * A stream is read once, and never sent twice: if a second send is needed, the operation fails instead. A
 * `Readable` is destroyed if its put fails.
 */
export type ObjectBody = string | Uint8Array | StreamBody;

/** The progress of sending a body. */
export interface Progress {
  readonly sentBytes: number;
  readonly totalBytes: number;
}

/** Options of every operation. */
export interface OperationOptions {
  /**
   * An abort of this signal ends the operation. The operation then rejects with the signal's reason if nothing was
   * written, and with `outcome-unknown` if a send was not answered, or a rename has made its copy.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a put. */
export interface PutOptions extends OperationOptions {
  readonly contentType?: string | undefined;
  /** The user's own metadata; printable ASCII. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /**
   * The committer calls this while it sends a stream. For text and bytes, it calls this once, at the end. An error of the
   * callback does not change the put: it becomes a warning of the process.
   */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** Options of a delete. */
export interface DeleteOptions extends OperationOptions {
  /** Delete only the object with this ETag. Default: any object with this key. */
  readonly ifMatch?: string | undefined;
}

/** Options of an update. */
export interface UpdateOptions extends PutOptions {
  /** The most attempts to read and commit, while other writers commit in between. From 1; default 20. */
  readonly attempts?: number | undefined;
}

export const OPERATION_NAMES: OptionNames<OperationOptions> = { signal: true };
export const PUT_NAMES: OptionNames<PutOptions> = {
  ...OPERATION_NAMES,
  contentType: true,
  metadata: true,
  onProgress: true,
};

export const DELETE_NAMES: OptionNames<DeleteOptions> = { ...OPERATION_NAMES, ifMatch: true };
export const UPDATE_NAMES: OptionNames<UpdateOptions> = { ...PUT_NAMES, attempts: true };

const LONGEST_KEY_BYTES = 1_024;

const refuse = (message: string): HoldfastError => new HoldfastError("invalid-argument", message);

/** Checks the body and the headers. Throws `invalid-argument`. */
export function contentOf(given: ObjectBody, options: PutOptions): PutContent {
  const body = bodyOf(given);
  const { contentType, onProgress } = options;
  checkCallback("onProgress", onProgress);
  if (contentType !== undefined && !isPrintable(contentType)) {
    throw refuse("The option `contentType` must be a string of printable ASCII.");
  }
  return {
    body,
    contentType,
    metadata: checkMetadata(options.metadata),
    onBytes:
      onProgress &&
      ((sentBytes) => tell(onProgress, { sentBytes, totalBytes: body.length }, onProgressThrew)),
  };
}

// An error in the callback must neither hide a commit nor break a stream.
function onProgressThrew(cause: unknown): void {
  const what = cause instanceof Error ? cause.message : valueText(cause);
  warn(new Error(`The \`onProgress\` callback threw: ${what}`, { cause }));
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
    "The body of an object must be text, bytes, or { stream, length } with an async iterable of " +
      "bytes and the number of bytes.",
  );
}

function checkMetadata(metadata: PutOptions["metadata"]): PutOptions["metadata"] {
  if (metadata !== undefined && (Object(metadata) !== metadata || Array.isArray(metadata))) {
    throw refuse("The option `metadata` must be an object of names and texts.");
  }
  const names = new Set([COMMIT_METADATA]);
  for (const [name, value] of Object.entries(metadata ?? {})) {
    if (!METADATA_NAME.test(name) || !isPrintable(value)) {
      throw refuse(
        `The metadata \`${name}\` must be a string of printable ASCII, under a name of letters, digits and \`-\`, or any ` +
          "other characters that the name of a header can have.",
      );
    }
    // Stores ignore case in the names of metadata: of two values one would be lost.
    const stored = name.toLowerCase();
    if (names.has(stored)) {
      throw refuse(
        stored === COMMIT_METADATA
          ? `The metadata name \`${COMMIT_METADATA}\` is reserved for the committer. Use another name.`
          : `The metadata \`${name}\` is there twice: stores ignore case in its name.`,
      );
    }
    names.add(stored);
  }
  return metadata;
}

// A token of HTTP: a request with another name cannot be sent.
const METADATA_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/** Whether a header can carry the text. Without this check a request that cannot be sent would count as unanswered. */
function isPrintable(text: unknown): boolean {
  return typeof text === "string" && /^[\x20-\x7e]*$/.test(text);
}

/** Checks an object's key. Throws `invalid-argument`. */
export function checkKey(key: string): string {
  const bytes = typeof key === "string" ? Buffer.byteLength(key) : 0;
  if (bytes >= 1 && bytes <= LONGEST_KEY_BYTES && !/\p{Surrogate}/u.test(key)) return key;
  throw refuse(
    `The key of an object must be a well-formed string of 1 to ${LONGEST_KEY_BYTES} bytes.`,
  );
}

/** Checks an expected ETag. Throws `invalid-argument`. */
export function checkEtag(etag: string): string {
  // The record of a create uses "*" as its ETag. In an `If-Match` header, "*" matches any object.
  if (isPrintable(etag) && etag !== "" && etag !== "*") return etag;
  throw refuse(
    `The expected ETag is not valid: ${valueText(etag)}. Pass an ETag as the object store returned it, ` +
      "with its quotation marks.",
  );
}

/** Checks that source and destination of a copy differ. Throws `invalid-argument`. */
export function checkApart(from: string, to: string): void {
  if (checkKey(from) !== checkKey(to)) return;
  throw refuse(`Object "${from}" cannot be copied to itself. Give another destination.`);
}

/** Checks an update before its first read: its content is known only after that. Throws `invalid-argument`. */
export function checkUpdate(next: unknown, options: PutOptions): void {
  if (typeof next !== "function") {
    throw refuse("The second argument of update() must be a function of the current object.");
  }
  contentOf("", options);
}

/** Checks the number of attempts of an update. Throws `invalid-argument`. */
export function checkAttempts(attempts: number): number {
  if ((Number.isInteger(attempts) && attempts >= 1) || attempts === Number.POSITIVE_INFINITY) {
    return attempts;
  }
  throw refuse(
    `The option \`attempts\` must be a whole number from 1, or Infinity; it is ${valueText(attempts)}.`,
  );
}
