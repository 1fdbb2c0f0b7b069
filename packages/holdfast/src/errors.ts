import { visible } from "./internal/shown.js";

/**
 * The one family of errors. Match on `code`. The code survives minification and two copies of the package in
 * one program; `instanceof` does not.
 */

/** The kind of failure, as a stable string. docs/errors.md describes the remedy for each code. */
export type ErrorCode =
  | "not-acquired"
  | "lost"
  | "resigned"
  | "interrupted"
  | "limit-mismatch"
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
 * Why a lease ended without a release by its holder.
 * - `stolen`: the record names another holder, or a later fence.
 * - `expired`: the holder's deadline passed without an acknowledged renewal.
 * - `deleted`: the record no longer exists.
 * - `released-elsewhere`: the record is free, and this lease did not free the record.
 * - `released-by-force`: an operator or another client released the lock by force; the message says who, and
 *   why.
 * - `lost-with-another`: another lock that was acquired together with this lock was lost, or released alone.
 * - `session-ended`: the session of the lease ended.
 * - `interrupted`: another caller interrupted the holder, which did not release the lock before its lease ended.
 * - `exported`: the holder transferred the lease to another process.
 * - `held-too-long`: the lease was held for as long as its option `maxHold` allows.
 * - `forgotten`: the handle was garbage-collected without a release, and its signal was never used.
 * - `closed`: the client or the session of the lease was closed.
 */
export type LossReason =
  | "stolen"
  | "expired"
  | "deleted"
  | "released-elsewhere"
  | "released-by-force"
  | "lost-with-another"
  | "session-ended"
  | "interrupted"
  | "exported"
  | "forgotten"
  | "held-too-long"
  | "closed";

// Symbol.for: two copies of the package in one program share the brand.
const BRAND = Symbol.for("holdfast.error");

/** What the caller's process saw of a lock's holder. */
export interface HolderSeen {
  /** The name of the held lock. */
  readonly lockName: string;
  /** The readable label of the holder, if the record has one. */
  readonly owner: string | undefined;
  /** The length of the holder's lease, in milliseconds. */
  readonly leaseMs: number;
  /** Whether the client itself holds the lock. It does not observe its own renewals. */
  readonly isOwn: boolean;
  /**
   * For how long the process saw no renewal, in milliseconds. Undefined if the lock is on a session not read yet, or if
   * `isOwn`.
   */
  readonly silentMs: number | undefined;
  /** In how many milliseconds a takeover is possible if the holder does not renew. Undefined like `silentMs`. */
  readonly takeableInMs: number | undefined;
}

const DETAILS = [
  ...(["lockName", "reason", "timing", "holder", "retryAfterMs"] as const),
  ...(["objectKey", "etag", "commitId", "errors"] as const),
];

/** The error of every function of this package, thrown or as a rejection. */
export class HoldfastError extends Error {
  override readonly name = "HoldfastError";
  /** The stable code to match on. */
  readonly code: ErrorCode;
  /** The name of the lock, if the error concerns a lock. */
  declare readonly lockName: string | undefined;
  /** With code `lost`: why the lease ended. */
  declare readonly reason: LossReason | undefined;
  /** With code `lost`, if a client noticed the loss by itself: when. */
  declare readonly timing:
    | {
        /** How long after the deadline the client noticed the loss, in milliseconds; 0 before the deadline. */
        readonly lateMs: number;
        /** How long ago the client sent the last request that DynamoDB acknowledged for this lease, in milliseconds. */
        readonly silentMs: number;
        /**
         * For how long this process certainly did not run before it noticed, in milliseconds: its event loop was blocked, or it
         * was stopped. 0 for a lease that only the user renews. A suspended machine counts in `lateMs` alone.
         */
        readonly stalledMs: number;
      }
    | undefined;
  /** With code `not-acquired`: what this process saw of the holder, if it read the record or is itself the holder. */
  declare readonly holder: HolderSeen | undefined;
  /**
   * With code `not-acquired` at the end of the wait, or without one: in how many milliseconds a waiter would look again, as
   * for `Retry-After`. That is `poll.max`, or sooner if a takeover is due sooner (`holder.takeableInMs`). The lock may still
   * be held then.
   */
  declare readonly retryAfterMs: number | undefined;
  /** The key of the object, if the error concerns an object. */
  declare readonly objectKey: string | undefined;
  /** With `already-exists` and `precondition-failed`: the ETag found, if the object exists. */
  declare readonly etag: string | undefined;
  /** With `outcome-unknown` of an object: the commit id that the object has if this write was applied. */
  declare readonly commitId: string | undefined;
  /** From `close()`, and from the release of a multi-lock: an error for each lease with a failed release. */
  declare readonly errors: readonly HoldfastError[] | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    details: {
      /** The name of the lock. */
      readonly lockName?: string | undefined;
      /** With code `lost`: why the lease ended. */
      readonly reason?: LossReason | undefined;
      /** With code `lost`: when the client noticed the loss. */
      readonly timing?: HoldfastError["timing"] | undefined;
      /** With code `not-acquired`: what this process saw of the holder. */
      readonly holder?: HolderSeen | undefined;
      /** With code `not-acquired`: in how many milliseconds a waiter would look again. */
      readonly retryAfterMs?: number | undefined;
      /** The key of the object. */
      readonly objectKey?: string | undefined;
      /** With `already-exists` and `precondition-failed`: the ETag found, if the object exists. */
      readonly etag?: string | undefined;
      /** With `outcome-unknown` of an object: the commit id that the object has if this write was applied. */
      readonly commitId?: string | undefined;
      /** The underlying error, usually from the SDK. */
      readonly cause?: unknown;
      /** From `close()`, and from the release of a multi-lock: an error for each lease with a failed release. */
      readonly errors?: readonly HoldfastError[] | undefined;
    } = {},
  ) {
    // A message may quote text from the table and often ends in a log, so control characters are escaped.
    super(visible(message), details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    // Only the details that apply are enumerable, so that a log shows no row of undefined fields.
    for (const key of DETAILS) {
      const value = details[key];
      Object.defineProperty(this, key, { value, enumerable: value !== undefined });
    }
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** When a client noticed the loss of a lease. */
export type LossTiming = NonNullable<HoldfastError["timing"]>;

/**
 * Whether a caught value is an error of this package, from any copy of the package. With `code`, also requires
 * this code. Sends no request; never throws.
 */
export function isHoldfastError(value: unknown, code?: ErrorCode): value is HoldfastError {
  if (typeof value !== "object" || value === null || !(BRAND in value)) return false;
  return code === undefined || (value as { readonly code?: unknown }).code === code;
}
