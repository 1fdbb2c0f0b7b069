import { HoldfastError } from "../../errors.js";
import { checkNames, type OptionNames } from "../../internal/option-names.js";
import { compileCondition } from "../../platform/dynamodb/expressions.js";
import type { AttributeValue, Condition, Item } from "../../platform/table.js";
import type { FormatTypes } from "../record/format-types.js";
import type { Hold } from "./hold.js";
import { handleOf, type Lease } from "./lease.js";

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

/** Options of {@link condition} and {@link conditions}. */
interface ConditionOptions {
  readonly document?: boolean | undefined;
}

const CONDITION_NAMES: OptionNames<ConditionOptions> = { document: "flag" };

/**
 * Returns a condition for your own transaction. The transaction commits only while the record names this holder and
 * this fence. So DynamoDB refuses the transaction of a former holder, whatever the clocks do. The condition covers
 * the grant, not this handle: while another handle shares the grant by reentry, the condition stays true after the
 * release of this handle. Sends no request. Costs two write units in the transaction; of a permit, two for each KB of
 * the record. Throws `invalid-argument` for an unknown option, for several locks, and in a format with the fence beside
 * the record: use {@link conditions} for both.
 * @example
 * await client.send(new TransactWriteItemsCommand({ TransactItems: [condition(lease), { Put: ... }] }));
 */
export function condition(
  lease: Lease<FormatTypes> & { readonly fence: bigint },
  options?: {
    /**
     * Whether the condition is for lib-dynamodb's `TransactWriteCommand`. Default: whether Holdfast was given a document
     * client; false with `lean()`.
     */
    readonly document?: boolean | undefined;
  },
): GuardCondition {
  const [only, ...others] = conditionsOf("condition()", lease, options);
  if (only !== undefined && others.length === 0) return only;
  throw new HoldfastError(
    "invalid-argument",
    `The lease of "${lease.name}" needs ${others.length + 1} conditions. Use conditions(lease), and add all of them to the transaction.`,
    { lockName: lease.name },
  );
}

/**
 * Returns the conditions of a lease for your own transaction, which must include all of them: one for each lock; with
 * `fences: "companion"`, which keeps the fence beside the record, two. The transaction commits only while each record
 * names this holder and this fence is the latest. If the fence is beside the record, the conditions do **not** count the
 * grants of other clients: after another client's release, a delayed copy of this lease's claim can make the conditions
 * true again, and a delayed copy of a fence write can make the conditions false under a held lease. Sends no request.
 * Each condition costs two write units in the transaction. Throws `invalid-argument` for an unknown option, and in a
 * format without fences.
 * @example
 * const TransactItems = [...conditions(lease), { Put: ... }];
 */
export function conditions(
  lease: Lease<FormatTypes>,
  options?: { readonly document?: boolean | undefined },
): readonly GuardCondition[] {
  return conditionsOf("conditions()", lease, options);
}

function conditionsOf(
  caller: string,
  lease: Lease<FormatTypes>,
  options?: ConditionOptions,
): readonly GuardCondition[] {
  const { holds } = handleOf(caller, lease);
  return holds.flatMap((hold) => {
    const { context, held } = hold;
    if (context.format.facts.recordsHaveFences || held.number !== undefined) {
      return guardConditions(hold, options);
    }
    throw new HoldfastError(
      "invalid-argument",
      `${caller} needs fences, and the format of lock "${lease.name}" has none. Use \`fences: "companion"\` in the ` +
        "format, or native records.",
      { lockName: lease.name },
    );
  });
}

/**
 * Whether a transaction was cancelled because the condition of a lease failed: the holder has lost the lock. `index` is
 * the place of the condition in `TransactItems`, or the places of several. False for every other error, also for a
 * transaction that failed for another of its items. Sends no request; never throws.
 * @example
 * const TransactItems = [condition(lease), { Put: ... }];
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
