import { HoldfastError } from "../../errors.js";
import { shown } from "../../internal/shown.js";
import type { Item, Misconfigured, NotNow, Unknown, WriteAnswer } from "../table.js";

/** An error of the SDK's, by shape: classes and their names do not survive bundlers or two SDK copies. */
interface SdkError {
  readonly name?: unknown;
  readonly message?: unknown;
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

// Of the SDK's own: nothing was sent.
const NO_CREDENTIALS = new Set(["CredentialsProviderError", "TokenProviderError"]);

const NO_TABLE = new Set(["ResourceNotFoundException", "TableNotFoundException"]);

// Refusals of a request as it is, which DynamoDB and its like also send without a status to the SDK.
const REFUSED = new Set([
  "ValidationException",
  "SerializationException",
  "ItemCollectionSizeLimitExceededException",
  "UnknownOperationException",
]);

// The runtime's own errors, of no service: thrown by the SDK while it reads an answer.
const RUNTIME_ERRORS = new Set(["Error", "TypeError", "SyntaxError", "RangeError"]);

/** What a table is for, where an error tells what to do about it. */
export interface TableUse {
  /** What the commands about tables have to be told. */
  readonly flags: string;
}

/** A table of locks. */
export const FOR_LOCKS: TableUse = Object.freeze({ flags: "" });

/** A table of commit records. */
export const FOR_COMMITS: TableUse = Object.freeze({
  flags: " --format object-commit",
});

/**
 * Whether the service refused the request, and the SDK failed as it read the refusal: with an item in it that has
 * a key `__proto__`, for one. The refusal is an answer all the same, and nothing was written. Pure.
 */
export function isUnreadRefusal(error: unknown): boolean {
  const { name, $metadata } = (error ?? {}) as SdkError;
  return $metadata?.httpStatusCode === 400 && typeof name === "string" && RUNTIME_ERRORS.has(name);
}

/** What an error of the SDK's says of the request that it answers, an `operation` of DynamoDB's. Pure. */
export function answerOf(
  error: unknown,
  table: string,
  operation: string,
  use = FOR_LOCKS,
): Extract<WriteAnswer, { readonly kind: "refused" }> | Unknown | NotNow | Misconfigured {
  const { name, message, Item: item, $metadata } = (error ?? {}) as SdkError;
  if (typeof name !== "string") return { kind: "unknown", cause: error };
  const isRepeated = ($metadata?.attempts ?? 1) > 1;
  if (name === "ConditionalCheckFailedException") {
    return { kind: "refused", item, ...(isRepeated ? { isRepeated } : {}) };
  }
  // Said of the last of several attempts, "not applied" is not said of the first.
  if (isRepeated) return { kind: "unknown", cause: error };
  if (THROTTLED.has(name)) return { kind: "throttled", cause: error };
  if (CONFLICTS.has(name)) return { kind: "conflict", cause: error };
  if (name === "InvalidSignatureException" && /expired|not yet current/i.test(String(message))) {
    return { kind: "skewed", cause: error };
  }
  if (NO_CREDENTIALS.has(name)) {
    return { kind: "misconfigured", error: noCredentials(error, message, table) };
  }
  if (DENIED.has(name)) {
    return { kind: "misconfigured", error: denied(error, message, table, operation) };
  }
  if (NO_TABLE.has(name)) return { kind: "misconfigured", error: noTable(error, table, use) };
  // Whatever it is called: sent again unchanged, the request would be refused again.
  if (REFUSED.has(name) || $metadata?.httpStatusCode === 400) {
    return { kind: "misconfigured", error: refused(error, name, message, table, use) };
  }
  // The SDK's own words for it, of no name; nothing was sent.
  if (message === "Region is missing") {
    return { kind: "misconfigured", error: noRegion(error, table) };
  }
  return { kind: "unknown", cause: error };
}

function noRegion(cause: unknown, table: string): HoldfastError {
  return new HoldfastError(
    "misconfigured",
    `The client of table "${table}" has no region: give it one, or set AWS_REGION.`,
    { cause },
  );
}

function noCredentials(cause: unknown, message: unknown, table: string): HoldfastError {
  return new HoldfastError(
    "access-denied",
    `The client of table "${table}" has no credentials (${said(message)}). Give it some, by AWS_PROFILE, AWS_ACCESS_KEY_ID ` +
      "and AWS_SECRET_ACCESS_KEY, or the role of the machine. Nothing was sent.",
    { cause },
  );
}

function denied(cause: unknown, message: unknown, table: string, operation: string): HoldfastError {
  return new HoldfastError(
    "access-denied",
    `DynamoDB refused dynamodb:${operation} on table "${table}": ${said(message)}. Check that the credentials are in ` +
      "force, and allow it: policyFor(), or `holdfast table policy`, tells all that is needed.",
    { cause },
  );
}

function noTable(cause: unknown, table: string, { flags }: TableUse): HoldfastError {
  return new HoldfastError(
    "misconfigured",
    `There is no table "${table}" in this region and account. Check its name, the region and the ` +
      `endpoint, or create it: createTable(), or \`holdfast table create${flags}\`.`,
    { cause },
  );
}

function refused(
  cause: unknown,
  name: string,
  message: unknown,
  table: string,
  { flags }: TableUse,
): HoldfastError {
  const hint = isAboutKeys(message)
    ? "Usually the key of the table is not the one that was configured: check it with checkTable(), or " +
      `\`holdfast table check${flags}\`.`
    : "Sent again unchanged, the request would be refused again: mend what the message names.";
  return new HoldfastError(
    "misconfigured",
    `DynamoDB refused the request on table "${table}" (${name}): ${said(message)}. ${hint}`,
    { cause },
  );
}

/** Whether the words of a refusal are about the key of the table. Pure. */
export function isAboutKeys(message: unknown): boolean {
  return /\bkeys?\b|\bschema\b/i.test(String(message));
}

// The SDK puts advice for its own developers below the first line.
function said(message: unknown): string {
  const [line = ""] = String(message).split("\n", 1);
  return shown(line).replace(/\.$/, "");
}
