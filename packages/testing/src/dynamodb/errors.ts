/** A failure answer, in the service's wording. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  /** The short name of the exception, such as `ConditionalCheckFailedException`. */
  readonly type: string;
  /** Further members of the error: `Item`, `CancellationReasons`. */
  readonly members: { readonly [name: string]: unknown };

  constructor(type: string, message: string, members: { readonly [name: string]: unknown } = {}) {
    super(message);
    this.type = type;
    this.members = members;
  }
}

/** The request is invalid, independent of the table's content. */
export function invalid(message: string): ServiceError {
  return new ServiceError("ValidationException", message);
}

/** The request is not even of the right shape: a number where a string belongs. */
export function malformed(message: string): ServiceError {
  return new ServiceError("SerializationException", message);
}

/** Namespaces of errors that are not in the service's own namespace. */
const NAMESPACES: Readonly<Record<string, string>> = {
  ValidationException: "com.amazon.coral.validate#",
  AccessDeniedException: "com.amazon.coral.service#",
};
const SERVICE_NAMESPACE = "com.amazonaws.dynamodb.v20120810#";

/** The error's body on the wire. */
export function errorBody(error: ServiceError): { readonly [name: string]: unknown } {
  const namespace = NAMESPACES[error.type] ?? SERVICE_NAMESPACE;
  // Both spellings: old and new clients read different members.
  return {
    __type: namespace + error.type,
    message: error.message,
    Message: error.message,
    ...error.members,
  };
}
