import { HoldfastError } from "../../errors.js";
import { shown } from "../../internal/shown.js";
import { isUnusable, isWithoutCredentials, noCredentials, said, unusable } from "../credentials.js";
import type { Item, Misconfigured, NotNow, Unknown, WriteAnswer } from "../table.js";

/** An SDK error, recognised by shape: class names do not survive bundlers or two copies of the SDK. */
interface SdkError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  /** Of the runtime's error for a wrong URL: the URL. */
  readonly input?: unknown;
  readonly Item?: Item;
  readonly $metadata?: { readonly attempts?: number; readonly httpStatusCode?: number };
}

const THROTTLED = new Set([
  "ProvisionedThroughputExceededException",
  "ThrottlingException",
  "Throttling",
  "ThrottledException",
  "RequestLimitExceeded",
  "TooManyRequestsException",
  "LimitExceededException",
]);

const CONFLICTS = new Set([
  "TransactionConflictException",
  "TransactionInProgressException",
  "ReplicatedWriteConflictException",
]);

const DENIED = new Set([
  "AccessDeniedException",
  "AccessDenied",
  "UnrecognizedClientException",
  "InvalidClientTokenId",
  "InvalidSignatureException",
  "MissingAuthenticationToken",
  "MissingAuthenticationTokenException",
  "NotAuthorizedException",
  "ExpiredTokenException",
  "ExpiredToken",
  "OptInRequired",
]);

const NO_TABLE = new Set(["ResourceNotFoundException", "TableNotFoundException"]);

// Refusals of the request itself. DynamoDB and compatible servers also send them without a status.
const REFUSED = new Set([
  "ValidationException",
  "SerializationException",
  "ItemCollectionSizeLimitExceededException",
  "UnknownOperationException",
]);

// Errors of the JavaScript runtime, not of the service: the SDK throws them while it parses an answer.
const RUNTIME_ERRORS = new Set(["Error", "TypeError", "SyntaxError", "RangeError"]);

/** What the table stores, so that error messages advise the right commands. */
export interface TableUse {
  /** Flags to add to the commands about tables. */
  readonly flags: string;
  /** Returns the server that received the last request, if known. */
  readonly endpoint?: (() => string | undefined) | undefined;
}

/** A table of locks. */
export const FOR_LOCKS: TableUse = Object.freeze({ flags: "" });

/** A table of commit records. */
export const FOR_COMMITS: TableUse = /* @__PURE__ */ Object.freeze({
  flags: " --format object-commit",
});

/**
 * Whether the service refused the request and the SDK failed to parse the refusal. Pure. This happens, for
 * example, when the item in the refusal has a key `__proto__`. The refusal is still an answer: nothing was
 * written.
 */
export function isUnreadRefusal(error: unknown): boolean {
  const { name, $metadata } = (error ?? {}) as SdkError;
  return $metadata?.httpStatusCode === 400 && typeof name === "string" && RUNTIME_ERRORS.has(name);
}

/** Turns an SDK error of one `operation` into an answer. Pure. */
export function answerOf(
  error: unknown,
  table: string,
  operation: string,
  use = FOR_LOCKS,
): Extract<WriteAnswer, { readonly kind: "refused" }> | Unknown | NotNow | Misconfigured {
  const { name, message, code, input, Item: item, $metadata } = (error ?? {}) as SdkError;
  if (typeof name !== "string") return { kind: "unknown", cause: error };
  const isRepeated = ($metadata?.attempts ?? 1) > 1;
  if (name === "ConditionalCheckFailedException") {
    return { kind: "refused", item, ...(isRepeated ? { isRepeated } : {}) };
  }
  // The error describes the last of several attempts. An earlier attempt may have been applied.
  if (isRepeated) return { kind: "unknown", cause: error };
  if (THROTTLED.has(name)) return { kind: "throttled", cause: error };
  if (CONFLICTS.has(name)) return { kind: "conflict", cause: error };
  if (name === "InvalidSignatureException" && /expired|not yet current/i.test(String(message))) {
    return { kind: "skewed", cause: error };
  }
  if (isWithoutCredentials(name)) {
    return {
      kind: "misconfigured",
      error: noCredentials(`the client of table "${table}"`, error),
    };
  }
  if (DENIED.has(name)) {
    return { kind: "misconfigured", error: denied(error, message, table, operation) };
  }
  if (NO_TABLE.has(name)) return { kind: "misconfigured", error: noTable(error, table, use) };
  // DynamoDB would refuse the same request again, whatever the name of the error is.
  if (REFUSED.has(name) || $metadata?.httpStatusCode === 400) {
    return { kind: "misconfigured", error: refused(error, name, message, table, use) };
  }
  if (code === "ERR_INVALID_URL") {
    return { kind: "misconfigured", error: noUrl(error, String(input), table) };
  }
  if (isUnusable(error)) {
    return { kind: "misconfigured", error: unusable(`the client of table "${table}"`, error) };
  }
  return { kind: "unknown", cause: error };
}

function noUrl(cause: unknown, endpoint: string, table: string): HoldfastError {
  return new HoldfastError(
    "misconfigured",
    `The endpoint "${shown(endpoint)}" of the DynamoDB client of table "${table}" is not a URL such as ` +
      "http://127.0.0.1:8000. Correct the client's `endpoint`, or AWS_ENDPOINT_URL_DYNAMODB or AWS_ENDPOINT_URL.",
    { cause },
  );
}

function denied(cause: unknown, message: unknown, table: string, operation: string): HoldfastError {
  return new HoldfastError(
    "access-denied",
    `DynamoDB refused dynamodb:${operation} on table "${table}": ${said(message)}. Check that the credentials are ` +
      "valid, and allow this action. policyFor(), or `holdfast table policy`, lists all required permissions.",
    { cause },
  );
}

function noTable(cause: unknown, table: string, { flags, endpoint }: TableUse): HoldfastError {
  return new HoldfastError(
    "misconfigured",
    `There is no table "${table}" at ${endpoint?.() ?? "this endpoint"}. Check its name, region, account and ` +
      `endpoint. If it is missing, create it with createTable(), or \`holdfast table create${flags}\`.`,
    { cause },
  );
}

/** The error of a request, or of a transaction, that DynamoDB would refuse again. Pure. */
export function refused(
  cause: unknown,
  name: string,
  message: unknown,
  table: string,
  { flags }: TableUse,
): HoldfastError {
  if (!isTableName(table)) {
    return new HoldfastError(
      "misconfigured",
      `"${shown(table)}" is not a valid table name. DynamoDB refused it: ${said(message)}. Use 3 to 255 letters, ` +
        "digits, underscores, hyphens and dots, or the table's ARN.",
      { cause },
    );
  }
  const hint = isAboutKeys(message)
    ? "Usually the key of the table differs from the configured key. Check it with checkTable(), or " +
      `\`holdfast table check${flags}\`.`
    : "Fix the problem that DynamoDB names.";
  return new HoldfastError(
    "misconfigured",
    `DynamoDB refused the request on table "${table}" (${name}): ${said(message)}. ${hint}`,
    { cause },
  );
}

// DynamoDB takes an ARN in place of a name.
function isTableName(table: string): boolean {
  return /^[\w.-]{3,255}$/.test(table) || table.startsWith("arn:");
}

/** Whether a refusal's message is about the key of the table. Pure. */
function isAboutKeys(message: unknown): boolean {
  return /\bkeys?\b|\bschema\b/i.test(String(message));
}
