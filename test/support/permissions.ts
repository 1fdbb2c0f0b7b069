import type { PolicyDocument, PolicyStatement } from "../../packages/holdfast/src/table/index.js";
import type { MemoryAccess } from "../../packages/testing/src/index.js";

/** An action of a policy that a test can refuse alone, for a single kind of key if there are several. */
export interface Permission {
  readonly action: string;
  readonly key: string | undefined;
}

/** All DynamoDB permissions of a policy, as separate entries. */
export function permissionsOf(document: PolicyDocument): Permission[] {
  return document.Statement.flatMap(({ Action, Condition }) => {
    const keys = Condition?.["ForAllValues:StringLike"]?.["dynamodb:LeadingKeys"] ?? [undefined];
    return Action.filter((action) => action.startsWith("dynamodb:")).flatMap((action) =>
      keys.map((key) => ({ action, key })),
    );
  });
}

/** IAM's `StringLike`: `*` and `?` are wildcards; `${*}`, `${?}` and `${$}` stand for the characters. */
export function isLike(text: string, pattern: string): boolean {
  const source = pattern.replace(/\$\{([*?$])\}|[\s\S]/g, (part, named: string | undefined) => {
    if (named !== undefined) return `\\${named}`;
    if (part === "*") return "[\\s\\S]*";
    if (part === "?") return "[\\s\\S]";
    return part.replace(/[.+^${}()|[\]\\/]/g, "\\$&");
  });
  return new RegExp(`^${source}$`, "u").test(text);
}

function allowsBy(statement: PolicyStatement, access: MemoryAccess): boolean {
  const arn = `arn:aws:dynamodb:eu-central-1:000000000000:table/${access.table}`;
  const keys = statement.Condition?.["ForAllValues:StringLike"]?.["dynamodb:LeadingKeys"];
  const resources = [statement.Resource].flat();
  return (
    statement.Action.includes(access.action) &&
    resources.some((resource) => isLike(arn, resource)) &&
    // As in IAM, a condition on a key without values is true.
    (keys === undefined ||
      access.leadingKey === undefined ||
      keys.some((key) => isLike(access.leadingKey ?? "", key)))
  );
}

/** Decides as IAM would by this policy alone. */
export function allowedBy(document: PolicyDocument): (access: MemoryAccess) => boolean {
  return (access) => document.Statement.some((statement) => allowsBy(statement, access));
}

/** Whether this permission allows the access. */
export function isFor({ action, key }: Permission, access: MemoryAccess): boolean {
  return access.action === action && (key === undefined || isLike(access.leadingKey ?? "", key));
}
