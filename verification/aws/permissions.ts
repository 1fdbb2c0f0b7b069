import type { PolicyDocument, PolicyStatement } from "../../src/table/index.js";

/** An action of a policy that a test can remove alone, for a single kind of key if there are several. */
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

/** The same policy without this one permission. Other actions keep all their keys. */
export function withoutPermission(
  { Version, Statement }: PolicyDocument,
  permission: Permission,
): PolicyDocument {
  return { Version, Statement: Statement.flatMap((one) => withoutIn(one, permission)) };
}

function withoutIn(statement: PolicyStatement, { action, key }: Permission): PolicyStatement[] {
  const { Sid, Action, Condition } = statement;
  if (!Action.includes(action)) return [statement];
  const others = Action.filter((one) => one !== action);
  const keys = Condition?.["ForAllValues:StringLike"]?.["dynamodb:LeadingKeys"] ?? [];
  // Of another statement with the same action.
  if (key !== undefined && !keys.includes(key)) return [statement];
  const left = key === undefined ? [] : keys.filter((one) => one !== key);
  const narrowed = { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": left } };
  return [
    ...(others.length === 0 ? [] : [{ ...statement, Action: others }]),
    ...(left.length === 0
      ? []
      : [{ ...statement, Sid: `${Sid}Narrowed`, Action: [action], Condition: narrowed }]),
  ];
}
