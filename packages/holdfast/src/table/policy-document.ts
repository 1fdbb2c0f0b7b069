/** Types and helpers for AWS policy documents. */

/** A statement of a policy of AWS's. */
export interface PolicyStatement {
  readonly Sid: string;
  readonly Effect: "Allow";
  readonly Action: readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: {
    readonly [operator: string]: { readonly [key: string]: readonly string[] };
  };
}

/** A policy document of AWS, ready for `JSON.stringify`. */
export interface PolicyDocument {
  readonly Version: "2012-10-17";
  readonly Statement: readonly PolicyStatement[];
}

/** A policy, and its limits. */
export interface Policy {
  readonly document: PolicyDocument;
  /** Sentences about permissions that a policy cannot narrow, or that were left out for this reason. */
  readonly notes: readonly string[];
}

/** Of which table a policy is. */
interface PolicyTable {
  readonly table: string;
  readonly region?: string | undefined;
  readonly account?: string | undefined;
  readonly partition?: string | undefined;
}

export const inDynamoDB = (action: string): string => `dynamodb:${action}`;

/** Escapes text for a literal match in IAM, where `*`, `?` and `$` are special. */
export function literal(text: string): string {
  return text.replace(/[*?$]/g, (character) => `\${${character}}`);
}

export function allow(
  sid: string,
  actions: readonly string[],
  resource: string | readonly string[],
  keys: readonly string[] = [],
): PolicyStatement {
  return {
    Sid: `Holdfast${sid}`,
    Effect: "Allow",
    Action: actions,
    Resource: resource,
    ...(keys.length === 0
      ? {}
      : { Condition: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": keys } } }),
  };
}

export function tableArn({ table, region, account, partition }: PolicyTable): string {
  return `arn:${partition ?? "aws"}:dynamodb:${region ?? "*"}:${account ?? "*"}:table/${table}`;
}
