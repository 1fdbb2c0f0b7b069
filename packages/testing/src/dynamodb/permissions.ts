import { ServiceError } from "./errors.js";
import { isObject } from "./storage/value.js";

/** One permission that a request needs; a transaction needs several. */
export interface MemoryAccess {
  /**
   * The IAM action, such as `dynamodb:UpdateItem`. Parts of a transaction have actions too:
   * `dynamodb:ConditionCheckItem`.
   */
  readonly action: string;
  /** The table's name; empty for requests without a table. */
  readonly table: string;
  /** The partition key if a string; the value that `dynamodb:LeadingKeys` checks. */
  readonly leadingKey: string | undefined;
}

const IN_TRANSACTIONS: Readonly<Record<string, string>> = {
  ConditionCheck: "ConditionCheckItem",
  Put: "PutItem",
  Update: "UpdateItem",
  Delete: "DeleteItem",
  Get: "GetItem",
};

/**
 * The permissions that a request needs. `hashKeyOf` returns the partition key attribute of an existing table.
 */
export function accessesOf(
  operation: string,
  body: unknown,
  hashKeyOf: (table: string) => string | undefined,
): MemoryAccess[] {
  const parts = isObject(body) ? body["TransactItems"] : undefined;
  if (Array.isArray(parts)) {
    return parts
      .filter(isObject)
      .flatMap((part) =>
        Object.entries(part).map(([name, of]) =>
          accessOf(IN_TRANSACTIONS[name] ?? name, of, hashKeyOf),
        ),
      );
  }
  return [accessOf(operation, body, hashKeyOf)];
}

function accessOf(
  operation: string,
  body: unknown,
  hashKeyOf: (table: string) => string | undefined,
): MemoryAccess {
  const fields = isObject(body) ? body : {};
  const named = fields["TableName"];
  const table = typeof named === "string" ? named : "";
  const hashKey = hashKeyOf(table) ?? "";
  const key = fields["Key"] ?? fields["Item"];
  const leading = isObject(key) ? key[hashKey] : partitionIn(fields, hashKey);
  const leadingKey = isObject(leading) ? leading["S"] : undefined;
  return {
    action: `dynamodb:${operation}`,
    table,
    leadingKey: typeof leadingKey === "string" ? leadingKey : undefined,
  };
}

// A query names its partition in the key condition.
function partitionIn(fields: Readonly<Record<string, unknown>>, hashKey: string): unknown {
  const { KeyConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues } = fields;
  if (typeof KeyConditionExpression !== "string" || !isObject(ExpressionAttributeValues)) return;
  for (const [, name = "", value = ""] of KeyConditionExpression.matchAll(
    /(?<![#\w])(#?\w+)\s*=\s*(:\w+)/g,
  )) {
    const named = isObject(ExpressionAttributeNames) ? ExpressionAttributeNames[name] : undefined;
    if ((named ?? name) === hashKey) return ExpressionAttributeValues[value];
  }
  return undefined;
}

/** The refusal of one permission, in AWS's words. */
export function accessDenied({ action, table }: MemoryAccess): ServiceError {
  const resource = `arn:aws:dynamodb:ddblocal:000000000000:table/${table}`;
  return new ServiceError(
    "AccessDeniedException",
    `User: arn:aws:iam::000000000000:user/memory is not authorized to perform: ${action} on resource: ` +
      `${resource} because no identity-based policy allows the ${action} action`,
  );
}
