/** An answer other than success, as the service would word it. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  /** The exception's short name, such as `ConditionalCheckFailedException`. */
  readonly type: string;
  /** Members of the error beside its message: `Item`, `CancellationReasons`. */
  readonly members: { readonly [name: string]: unknown };

  constructor(type: string, message: string, members: { readonly [name: string]: unknown } = {}) {
    super(message);
    this.type = type;
    this.members = members;
  }
}

/** The request is wrong, whatever the table holds. */
export function invalid(message: string): ServiceError {
  return new ServiceError("ValidationException", message);
}

/** The request is not even of the right shape: a number where a string belongs. */
export function malformed(message: string): ServiceError {
  return new ServiceError("SerializationException", message);
}

/** There is no such table. */
export function noSuchTable(): ServiceError {
  return new ServiceError(
    "ResourceNotFoundException",
    "Cannot do operations on a non-existent table",
  );
}

/** Errors that come from another namespace than the service's own. */
const NAMESPACES: Readonly<Record<string, string>> = {
  ValidationException: "com.amazon.coral.validate#",
  AccessDeniedException: "com.amazon.coral.service#",
};
const SERVICE_NAMESPACE = "com.amazonaws.dynamodb.v20120810#";

/** The error's body on the wire. */
export function errorBody(error: ServiceError): { readonly [name: string]: unknown } {
  const namespace = NAMESPACES[error.type] ?? SERVICE_NAMESPACE;
  // Both spellings: clients of different ages look for different ones.
  return {
    __type: namespace + error.type,
    message: error.message,
    Message: error.message,
    ...error.members,
  };
}
