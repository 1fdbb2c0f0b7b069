import { visible } from "./internal/shown.js";

/**
 * One family of errors. Match on `code`: it is stable, survives minification and two copies of the
 * package in one program, which `instanceof` does not.
 */

/** What went wrong, as a stable string. See docs/errors.md for what each one asks of you. */
export type ErrorCode =
  | "not-acquired"
  | "lost"
  | "resigned"
  | "closed"
  | "foreign-record"
  | "unsupported-layout"
  | "misconfigured"
  | "access-denied"
  | "throttled"
  | "unreachable"
  | "invalid-argument"
  | "outcome-unknown"
  | "already-exists"
  | "precondition-failed"
  | "not-found";

/**
 * Why a hold ended against its holder's will.
 * - `stolen`: the record names another holder, or a later fence.
 * - `expired`: the local deadline passed without a renewal that was answered.
 * - `deleted`: the record is gone.
 * - `released-elsewhere`: the record is free, and this lease did not free it.
 * - `released-by-force`: somebody asked for it, or did it; the message says who, and why.
 * - `lost-with-another`: another lock that was acquired together with it was lost.
 * - `session-ended`: the session that the lease lived by ended.
 * - `closed`: the client was closed.
 */
export type LossReason =
  | "stolen"
  | "expired"
  | "deleted"
  | "released-elsewhere"
  | "released-by-force"
  | "lost-with-another"
  | "session-ended"
  | "exported"
  | "closed";

// Symbol.for: two copies of the package in one program agree on the brand.
const BRAND = Symbol.for("holdfast.error");

/** What an error may carry beside its code and message. */
export interface ErrorDetails {
  /** The name of the lock that the error is about. */
  readonly lockName?: string | undefined;
  /** With code `lost`: why. */
  readonly reason?: LossReason | undefined;
  /** The key of the object that the error is about. */
  readonly objectKey?: string | undefined;
  /** With `already-exists` and `precondition-failed`: the ETag that was found, if there is an object. */
  readonly etag?: string | undefined;
  /** With `outcome-unknown` of an object: what the object carries if that very write has landed. */
  readonly commitId?: string | undefined;
  /** The error underneath, usually the SDK's. */
  readonly cause?: unknown;
  /** With `close()`: one error for each lease that could not be released. */
  readonly errors?: readonly HoldfastError[] | undefined;
}

/** Every error that this package throws or rejects with. */
export class HoldfastError extends Error {
  override readonly name = "HoldfastError";
  /** Stable; the thing to match on. */
  readonly code: ErrorCode;
  /** The name of the lock, where the error is about one. */
  readonly lockName: string | undefined;
  /** With code `lost`: why the hold ended. */
  readonly reason: LossReason | undefined;
  /** The key of the object, where the error is about one. */
  readonly objectKey: string | undefined;
  /** With `already-exists` and `precondition-failed`: the ETag that was found, if there is an object. */
  readonly etag: string | undefined;
  /** With `outcome-unknown` of an object: what the object carries if that very write has landed. */
  readonly commitId: string | undefined;
  /** With `close()`: one error for each lease that could not be released. */
  readonly errors: readonly HoldfastError[] | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    // A message may quote what others wrote into the table, and often ends in a log: one line, and no escapes.
    super(visible(message), details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.lockName = details.lockName;
    this.reason = details.reason;
    this.objectKey = details.objectKey;
    this.etag = details.etag;
    this.commitId = details.commitId;
    this.errors = details.errors;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/**
 * Whether a caught value is an error of this package, made by this copy of it or another;
 * with `code`, whether it is that one. Costs no request; never throws.
 */
export function isHoldfastError(value: unknown, code?: ErrorCode): value is HoldfastError {
  if (typeof value !== "object" || value === null || !(BRAND in value)) return false;
  return code === undefined || (value as { readonly code?: unknown }).code === code;
}
