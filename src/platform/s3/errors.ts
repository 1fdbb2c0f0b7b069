import { HoldfastError } from "../../errors.js";
import { shown } from "../../internal/shown.js";
import type { ObjectAbsent, ObjectRefused, ObjectTrouble } from "./objects.js";

/** An error of the SDK's, by shape: classes and their names do not survive bundlers or two SDK copies. */
interface SdkError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly $metadata?: { readonly attempts?: number; readonly httpStatusCode?: number };
}

/** The server says so itself: it may have done what it was asked, or part of it. */
const UNSURE = new Set(["InternalError", "ServiceUnavailable", "RequestTimeout", "TimeoutError"]);

// A clock that is minutes off is told by its signature; the SDK corrects itself for the next send.
const NOT_NOW = new Set([
  "SlowDown",
  "Throttling",
  "ThrottlingException",
  "TooManyRequests",
  "TooManyRequestsException",
  "RequestLimitExceeded",
  "RequestTimeTooSkewed",
]);

const NO_CREDENTIALS = new Set(["CredentialsProviderError", "ExpiredToken", "InvalidAccessKeyId"]);

/** What an error of the SDK's says of the request about an object that it answers, which needs `action`. Pure. */
export function objectAnswerOf(
  error: unknown,
  bucket: string,
  action: string,
): ObjectAbsent | ObjectRefused | ObjectTrouble {
  const { name, message, $metadata } = (error ?? {}) as SdkError;
  const status = $metadata?.httpStatusCode;
  if (typeof name !== "string") return { kind: "unknown", cause: error };
  const isRepeated = ($metadata?.attempts ?? 1) > 1;
  // Some stores answer a write whose condition failed as they would a read.
  if (status === 412 || status === 304 || name === "PreconditionFailed") {
    return { kind: "refused", ...(isRepeated ? { isRepeated } : {}) };
  }
  // Said of the last of several attempts, "not applied" is not said of the first.
  if (isRepeated || UNSURE.has(name)) return { kind: "unknown", cause: error };
  if (NOT_NOW.has(name) || status === 429) return { kind: "throttled", cause: error };
  if (status === 409) return { kind: "conflict", cause: error };
  if (name === "NoSuchKey" || name === "NotFound") return { kind: "absent" };
  if (status === 401 || status === 403 || NO_CREDENTIALS.has(name)) {
    return { kind: "misconfigured", error: denied(error, status, message, bucket, action) };
  }
  // Without a status nobody answered; 5xx and 408 say nothing for certain.
  const isDefinite = status === 501 || (status !== undefined && status >= 400 && status < 500);
  if (!isDefinite || status === 408) return { kind: "unknown", cause: error };
  return { kind: "misconfigured", error: misconfigured(error, name, message, bucket) };
}

function denied(
  cause: unknown,
  status: number | undefined,
  message: unknown,
  bucket: string,
  action: string,
): HoldfastError {
  // The answer to a HEAD has no body that could say more.
  const said =
    message === "UnknownError" ? `status ${status}` : shown(String(message)).replace(/\.$/, "");
  return new HoldfastError(
    "access-denied",
    `The object store refused ${action} in bucket "${bucket}": ${said}. Check that the credentials are in force, ` +
      "and allow it, with s3:ListBucket on the bucket, without which an object that is missing looks like one " +
      "that is forbidden: policyFor(), or `holdfast table policy`, tells all that is needed.",
    { cause },
  );
}

function misconfigured(
  cause: unknown,
  name: string,
  message: unknown,
  bucket: string,
): HoldfastError {
  const said = `${name}: ${shown(String(message))}`;
  if (name === "NoSuchBucket") {
    return new HoldfastError(
      "misconfigured",
      `There is no bucket "${bucket}" at this endpoint. Check its name, the region and the endpoint.`,
      { cause },
    );
  }
  return new HoldfastError(
    "misconfigured",
    name === "NotImplemented"
      ? `The object store of bucket "${bucket}" does not know conditional writes (${said}). Use the ` +
          'strategy "dynamo".'
      : `The object store refused the request on bucket "${bucket}" (${said}).`,
    { cause },
  );
}
