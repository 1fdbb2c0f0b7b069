import type { GuardCondition } from "../../../packages/holdfast/src/index.js";
import type { MemoryTable } from "../../../packages/testing/src/table/memory-table.js";

/**
 * Whether a transaction with these conditions would commit now. Throws for conditions which it cannot read.
 */
export function wouldCommit(table: MemoryTable, conditions: readonly GuardCondition[]): boolean {
  return conditions.every(({ ConditionCheck: check }) => {
    const item = table.item(check.Key) ?? {};
    return check.ConditionExpression.replace(/^\((.*)\)$/, "$1")
      .split(" AND ")
      .every((part) => {
        const [, name = "", value] =
          /^(#\d+) = (:\d+)$/.exec(part) ?? /^attribute_not_exists\((#\d+)\)$/.exec(part) ?? [];
        const attribute = check.ExpressionAttributeNames[name];
        if (attribute === undefined) throw new Error(`This condition is none of these: ${part}`);
        const found = JSON.stringify(item[attribute]);
        const wanted = value && JSON.stringify(check.ExpressionAttributeValues[value]);
        return found === wanted;
      });
  });
}
