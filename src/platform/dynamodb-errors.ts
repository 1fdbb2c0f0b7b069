import { HoldfastError } from "../errors.js";
import type { Item, Misconfigured, NotNow, Unknown, WriteAnswer } from "./table.js";

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
  "CredentialsProviderError",
  "OptInRequired",
]);

const MISCONFIGURED = new Set([
  "ResourceNotFoundException",
  "TableNotFoundException",
  "ValidationException",
  "SerializationException",
  "ItemCollectionSizeLimitExceededException",
  "UnknownOperationException",
]);

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
  if (DENIED.has(name))
    return { kind: "misconfigured", error: denied(error, message, table, operation) };
  if (MISCONFIGURED.has(name)) {
    return { kind: "misconfigured", error: misconfigured(error, name, message, table, use) };
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

function denied(cause: unknown, message: unknown, table: string, operation: string): HoldfastError {
  const said = String(message).replace(/\.$/, "");
  return new HoldfastError(
    "access-denied",
    `DynamoDB refused dynamodb:${operation} on table "${table}": ${said}. Check that the credentials are in ` +
      "force, and allow it: policyFor(), or `holdfast table policy`, tells all that is needed.",
    { cause },
  );
}

function misconfigured(
  cause: unknown,
  name: string,
  message: unknown,
  table: string,
  { flags }: TableUse,
): HoldfastError {
  const isMissing = name === "ResourceNotFoundException" || name === "TableNotFoundException";
  return new HoldfastError(
    "misconfigured",
    isMissing
      ? `There is no table "${table}" in this region and account. Check its name, the region and the ` +
          `endpoint, or create it: createTable(), or \`holdfast table create${flags}\`.`
      : `DynamoDB refused the request on table "${table}": ${String(message)}. Usually its key is not ` +
          `the one that was configured: check it with checkTable(), or \`holdfast table check${flags}\`.`,
    { cause },
  );
}
