import type { PolicyDocument, PolicyStatement } from "../../src/index.js";
import type { MemoryAccess } from "../../src/testing/index.js";

/** IAM's `StringLike`: `*` and `?` stand for others, `${*}`, `${?}` and `${$}` for themselves. */
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
    // As IAM has it: of no values at all, all are like anything.
    (keys === undefined ||
      access.leadingKey === undefined ||
      keys.some((key) => isLike(access.leadingKey ?? "", key)))
  );
}

/** Decides as IAM would by this policy alone. */
export function allowedBy(document: PolicyDocument): (access: MemoryAccess) => boolean {
  return (access) => document.Statement.some((statement) => allowsBy(statement, access));
}

/** One action of a policy that can be missing by itself: on one kind of key, where there are several. */
export interface Permission {
  readonly action: string;
  readonly key: string | undefined;
}

/** Everything that a policy allows in DynamoDB, piece by piece. */
export function permissionsOf(document: PolicyDocument): Permission[] {
  return document.Statement.flatMap(({ Action, Condition }) => {
    const keys = Condition?.["ForAllValues:StringLike"]?.["dynamodb:LeadingKeys"] ?? [undefined];
    return Action.filter((action) => action.startsWith("dynamodb:")).flatMap((action) =>
      keys.map((key) => ({ action, key })),
    );
  });
}

/** Whether an access is the one that this permission is for. */
export function isFor({ action, key }: Permission, access: MemoryAccess): boolean {
  return access.action === action && (key === undefined || isLike(access.leadingKey ?? "", key));
}
