import { checkNames, type OptionNames } from "../../internal/option-names.js";
import { compileCondition } from "../../platform/dynamodb/expressions.js";
import type { AttributeValue, Condition, Item } from "../../platform/table.js";
import type { Hold } from "./hold.js";

type Scalar = { S: string } | { N: string };

/**
 * An element of `TransactItems`, in the form of the client that Holdfast was given: for `TransactWriteItemsCommand` of
 * the low-level client, or for `TransactWriteCommand` of lib-dynamodb's document client. The type fits both clients.
 * Do not read its values.
 */
export interface GuardCondition {
  ConditionCheck: {
    TableName: string;
    Key: Record<string, never>;
    ConditionExpression: string;
    ExpressionAttributeNames: Record<string, string>;
    ExpressionAttributeValues: Record<string, never>;
  };
}

/** Options of `condition()` and `conditions()`. */
export interface ConditionOptions {
  /**
   * Whether the condition is for lib-dynamodb's `TransactWriteCommand`. Default: whether Holdfast was given a document
   * client; false with `lean()`.
   */
  readonly document?: boolean | undefined;
}

const CONDITION_NAMES: OptionNames<ConditionOptions> = { document: true };

/**
 * The fence of a grant: a store that remembers the highest fence rejects writes from former holders. With `fences:
 * "companion"`, a format keeps the fence beside the record.
 */
export interface Fenced {
  /** Higher at every grant of this name by this library. See docs/fencing.md. */
  readonly fence: bigint;

  /**
   * Returns conditions for your own transaction, which must include all of them. The transaction commits only while
   * the record names this holder and this fence is the latest. So DynamoDB refuses the transaction of a former holder
   * after a later grant of this library, whatever the clocks do. If the fence is beside the record, the conditions do
   * **not** count the grants of other clients: after another client's release, a delayed copy of this lease's claim can
   * make the conditions true again, and a delayed copy of a fence write can make the conditions false under a held
   * lease. Sends no request. Each condition costs two write units in the transaction: a native record needs one
   * condition, other records two. Throws `invalid-argument` for an unknown option.
   * @example
   * const TransactItems = [...lease.conditions(), { Put: ... }];
   */
  conditions(options?: ConditionOptions): readonly GuardCondition[];
}

/** The fence of a grant in a format with the fence in the record. See {@link Fenced}. */
export interface FencedInRecord extends Fenced {
  /**
   * Returns a condition for your own transaction. The transaction commits only while the record names this holder and
   * this fence. So DynamoDB refuses the transaction of a former holder, whatever the clocks do. The condition covers
   * the grant, not this handle: while another handle shares the grant by reentry, the condition stays true after the
   * release of this handle. Sends no request. Costs two write units in the transaction. Throws `invalid-argument` for
   * an unknown option.
   * @example
   * await client.send(new TransactWriteItemsCommand({ TransactItems: [lease.condition(), { Put: ... }] }));
   */
  condition(options?: ConditionOptions): GuardCondition;
}

/**
 * Whether a transaction was cancelled because the condition of a lease failed: the holder has lost the lock. `index` is
 * the place of the condition in `TransactItems`, or the places of several. False for every other error, also for a
 * transaction that failed for another of its items. Sends no request; never throws.
 * @example
 * const TransactItems = [lease.condition(), { Put: ... }];
 * await client.send(new TransactWriteItemsCommand({ TransactItems })).catch((error) => {
 *   if (isRefusedByLock(error, 0)) return stop();
 *   throw error;
 * });
 */
export function isRefusedByLock(error: unknown, index: number | readonly number[]): boolean {
  const { name, CancellationReasons: reasons } = (error ?? {}) as {
    readonly name?: unknown;
    readonly CancellationReasons?: readonly ({ readonly Code?: unknown } | undefined)[];
  };
  if (name !== "TransactionCanceledException" || !Array.isArray(reasons)) return false;
  const places = typeof index === "number" ? [index] : index;
  return places.some((place) => reasons[place]?.Code === "ConditionalCheckFailed");
}

/** Requires that the record still names this holder and this fence, as an element of a transaction. Pure. */
export function guardCondition(hold: Hold, options: ConditionOptions = {}): GuardCondition {
  const { context, ref, held } = hold;
  return checkOf(hold, options, ref.key, context.format.lease.heldCondition(held, ref));
}

/**
 * Requires also the latest fence, in a format with fences beside the records. Without it a delayed copy of an
 * answered claim could make the record name a former holder again. Pure.
 */
export function guardConditions(hold: Hold, options: ConditionOptions = {}): GuardCondition[] {
  const { context, ref, held } = hold;
  const { fenceCounter } = context.format;
  const guard = guardCondition(hold, options);
  if (fenceCounter === undefined || held.number === undefined) return [guard];
  const { key, condition } = fenceCounter.isLast(ref, held.number);
  return [guard, checkOf(hold, options, key, condition)];
}

function checkOf(
  { context }: Hold,
  options: ConditionOptions,
  key: Item,
  condition: Condition,
): GuardCondition {
  const { document = context.sendsDocuments } = checkNames("condition()", options, CONDITION_NAMES);
  const compiled = compileCondition(condition);
  const inForm = (values: Record<string, Scalar>): Record<string, never> =>
    (document ? plain(values) : values) as Record<string, never>;
  return {
    ConditionCheck: {
      TableName: context.tableName,
      Key: inForm(scalars(key)),
      ConditionExpression: compiled.text,
      ExpressionAttributeNames: compiled.names,
      ExpressionAttributeValues: inForm(scalars(compiled.values)),
    },
  };
}

/** The values for the document client. */
function plain(values: Record<string, Scalar>): Record<string, string | bigint> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, "S" in value ? value.S : BigInt(value.N)]),
  );
}

function scalars(item: Item): Record<string, Scalar> {
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, scalar(value)]));
}

function scalar(value: AttributeValue): Scalar {
  if ("S" in value) return { S: value.S };
  if ("N" in value) return { N: value.N };
  throw new TypeError(
    "An attribute of a key or a condition has the wrong type. Use a string or a number.",
  );
}
