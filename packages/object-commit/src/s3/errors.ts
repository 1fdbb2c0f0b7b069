import { HoldfastError } from "holdfast";
import {
  causeText,
  isUnusable,
  isWithoutCredentials,
  noCredentials,
  type ObjectAbsent,
  type ObjectRefused,
  type ObjectTrouble,
  shown,
  unusable,
} from "holdfast/internal";

/**
 * An error of the SDK, known by its shape. Its class is no help: a bundler can rename the class, and each copy of the
 * SDK has its own class.
 */
interface SdkError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly $metadata?: { readonly attempts?: number; readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

/** Server errors with an uncertain outcome: the request may have been applied, completely or in part. */
const UNSURE = new Set(["InternalError", "ServiceUnavailable", "RequestTimeout", "TimeoutError"]);

// `RequestTimeTooSkewed`: a wrong clock made the signature invalid. The SDK corrects its clock offset before the next
// send.
const NOT_NOW = new Set([
  "SlowDown",
  "Throttling",
  "ThrottlingException",
  "TooManyRequests",
  "TooManyRequestsException",
  "RequestLimitExceeded",
  "RequestTimeTooSkewed",
]);

const DENIED = new Set(["ExpiredToken", "InvalidAccessKeyId"]);

/**
 * Turns an SDK error about an object into an answer. `action` is the permission that the request needs. Pure.
 */
export function objectAnswerOf(
  error: unknown,
  bucket: string,
  action: string,
): ObjectAbsent | ObjectRefused | ObjectTrouble {
  const { name, message, $metadata } = (error ?? {}) as SdkError;
  const status = $metadata?.httpStatusCode;
  if (typeof name !== "string") return { kind: "unknown", cause: error };
  const isRepeated = ($metadata?.attempts ?? 1) > 1;
  // If the condition of a write is false, some stores answer with 304, the status for a read.
  if (status === 412 || status === 304 || name === "PreconditionFailed") {
    return { kind: "refused", cause: error, ...(isRepeated ? { isRepeated } : {}) };
  }
  // The error describes the last of several attempts. An earlier attempt may have been applied.
  if (isRepeated || UNSURE.has(name)) return { kind: "unknown", cause: error };
  if (NOT_NOW.has(name) || status === 429) return { kind: "throttled", cause: error };
  if (status === 409) return { kind: "conflict", cause: error };
  if (name === "NoSuchKey" || name === "NotFound") return { kind: "absent" };
  if (isWithoutCredentials(name)) {
    return { kind: "misconfigured", error: noCredentials(`bucket "${bucket}"`, error) };
  }
  if (isUnusable(error)) {
    return { kind: "misconfigured", error: unusable(`the client of bucket "${bucket}"`, error) };
  }
  if (status === 401 || status === 403 || DENIED.has(name)) {
    return { kind: "misconfigured", error: denied(error, status, message, bucket, action) };
  }
  // Without a status there was no answer. After 408, and after 5xx other than 501, the outcome is unknown.
  // 301: the bucket is in another region.
  const isDefinite =
    status === 301 || status === 501 || (status !== undefined && status >= 400 && status < 500);
  if (!isDefinite || status === 408) return { kind: "unknown", cause: error };
  return { kind: "misconfigured", error: misconfigured(error, name, message, bucket) };
}

/** The stream of a body failed, or has another length than announced; nothing was written. */
export function bodyBroken(key: string, cause: unknown): HoldfastError {
  return new HoldfastError(
    "invalid-argument",
    `Object "${key}" was not written: its stream failed, or has another length than announced${causeText(cause)}. Give a new stream.`,
    { objectKey: key, cause },
  );
}

function denied(
  cause: unknown,
  status: number | undefined,
  message: unknown,
  bucket: string,
  action: string,
): HoldfastError {
  // The answer to a HEAD request has no body, so the SDK's message is only `UnknownError`.
  const said =
    message === "UnknownError" ? `status ${status}` : shown(String(message)).replace(/\.$/, "");
  return new HoldfastError(
    "access-denied",
    `The object store refused ${action} in bucket "${bucket}": ${said}. Check which credentials are in use. ` +
      "Allow this action, and s3:ListBucket on the bucket. Without s3:ListBucket the object store answers " +
      '"forbidden" for a missing object. ' +
      "policyFor(), or `holdfast table policy`, lists all required permissions.",
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
  const { $metadata, $response } = cause as SdkError;
  if ($metadata?.httpStatusCode === 301) {
    const region = $response?.headers?.["x-amz-bucket-region"];
    const where = region === undefined ? "another region" : `the region "${shown(region)}"`;
    return new HoldfastError(
      "misconfigured",
      `Bucket "${bucket}" is in ${where}, or at another endpoint. Make the S3Client with that region and endpoint.`,
      { cause },
    );
  }
  return new HoldfastError(
    "misconfigured",
    name === "NotImplemented"
      ? `The object store of bucket "${bucket}" does not support conditional writes (${said}). Use the ` +
          'strategy "dynamo".'
      : `The object store refused the request on bucket "${bucket}" (${said}). Fix the problem that the object ` +
          "store names: it would refuse the same request again.",
    { cause },
  );
}
