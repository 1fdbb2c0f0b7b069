import type { Answer, Context } from "../context.js";
import { invalid, ServiceError } from "../errors.js";
import { pathsOf } from "../expressions/condition.js";
import { project } from "../expressions/document-path.js";
import { capacityMode, transactionCapacity, type Usage } from "../storage/capacity.js";
import {
  checkKey,
  checkKeyLengths,
  checkKeySize,
  hasKeyTypes,
  refuseEmptyKeys,
  wrongKeyType,
} from "../storage/schema.js";
import { itemBytes, readUnits, writeUnits } from "../storage/size.js";
import type { Table, Tables } from "../storage/tables.js";
import { type Item, itemToWire } from "../storage/value.js";
import { readProjection } from "./item-operations.js";
import { Members } from "./request.js";
import {
  itemAfter,
  itemOnFailure,
  passesCondition,
  readExpressions,
  readOnFailure,
  readTarget,
  refuseKeyDocuments,
  refuseStrayPlaceholders,
  store,
  type WriteExpressions,
  type WriteKind,
  type WritePlan,
} from "./write-plan.js";

const MOST_ACTIONS = 100;
const LONGEST_TOKEN = 36;
const TOKEN_LIFE_MS = 10 * 60 * 1000;
/** A transaction prepares and commits, and each phase costs as much as a plain write or read. */
const TRANSACTION_FACTOR = 2;

const KINDS: readonly WriteKind[] = ["ConditionCheck", "Put", "Update", "Delete"];

/** Why one action cancelled its transaction, or `None`. */
interface Reason {
  readonly Code: "None" | "ConditionalCheckFailed" | "ValidationError";
  readonly Message?: string;
  readonly Item?: unknown;
}

/** An applied transaction, by token. */
interface Applied {
  readonly parameters: string;
  readonly untilMs: number;
  readonly plans: readonly WritePlan[];
}

function readActions(request: Members): readonly Members[] {
  const actions = request.list("TransactItems");
  if (actions === undefined) {
    throw invalid(
      "Value null at 'transactItems' failed to satisfy constraint: Member must not be null",
    );
  }
  if (actions.length > MOST_ACTIONS) {
    throw invalid(`Member must have length less than or equal to ${MOST_ACTIONS}`);
  }
  if (actions.length === 0) {
    throw invalid(
      "Value [] at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1",
    );
  }
  return actions.map((action) => new Members(action));
}

function missingMember(path: string): Error {
  return invalid(
    `Value null at 'transactItems.${path}' failed to satisfy constraint: Member must not be null`,
  );
}

/** An action, read as far as possible without its table. */
interface Draft extends WriteExpressions {
  readonly kind: WriteKind;
  readonly members: Members;
  readonly target: Item | undefined;
  readonly returnsItemOnFailure: boolean;
  /** The place in the request, for error messages. */
  readonly place: string;
}

function readDraft(action: Members, index: number): Draft {
  const [kind, ...others] = KINDS.filter((name) => action.has(name));
  if (others.length > 0) {
    throw invalid("TransactItems can only contain one of Check, Put, Update or Delete");
  }
  const members = kind && action.members(kind);
  if (kind === undefined || members === undefined) {
    throw invalid(
      "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request",
    );
  }
  const expressions = readExpressions(kind, members);
  const target = readTarget(kind, members);
  const returnsItemOnFailure = readOnFailure(members);
  const place = `${index + 1}.member.${kind.charAt(0).toLowerCase()}${kind.slice(1)}`;
  return { ...expressions, kind, members, target, returnsItemOnFailure, place };
}

function refuseNameless({ members, place }: Draft): void {
  if (!members.has("TableName")) throw missingMember(`${place}.tableName`);
}

function refuseIncomplete({ kind, members, place }: Draft): void {
  if (kind === "Put" && !members.has("Item")) throw missingMember(`${place}.item`);
  if (kind !== "Put" && !members.has("Key")) throw missingMember(`${place}.key`);
  if (kind === "Update" && !members.has("UpdateExpression")) {
    throw missingMember(`${place}.updateExpression`);
  }
  if (kind === "ConditionCheck" && !members.has("ConditionExpression")) {
    throw missingMember(`${place}.conditionExpression`);
  }
}

function planDraft(draft: Draft, tables: Tables): WritePlan {
  refuseIncomplete(draft);
  refuseStrayPlaceholders(draft.kind, draft.members);
  const table = tables.named(draft.members);
  const target: Item = draft.target ?? new Map();
  if (draft.kind !== "Put") checkKeySize(table.schema, target);
  if (hasKeyTypes(table.schema, target)) refuseEmptyKeys(table.schema, target);
  refuseKeyDocuments(table.schema, draft.condition ? pathsOf(draft.condition) : []);
  return { ...draft, table, target };
}

/** Reads all actions as far as possible without their tables. */
function readDrafts(request: Members): readonly Draft[] {
  const drafts = readActions(request).map(readDraft);
  drafts.forEach(refuseNameless);
  return drafts;
}

function planDrafts(drafts: readonly Draft[], tables: Tables): readonly WritePlan[] {
  const seen: string[] = [];
  return drafts.map((draft) => {
    const plan = planDraft(draft, tables);
    seen.push(identity(plan.table, plan.target));
    refuseDoubles(seen);
    return plan;
  });
}

function identity(table: Table, key: Item): string {
  const { hash, range } = table.schema;
  const values = [hash, range].map((attribute) => attribute && key.get(attribute.name)?.value);
  return JSON.stringify([table.name, ...values]);
}

function refuseDoubles(identities: readonly string[]): void {
  if (new Set(identities).size === identities.length) return;
  throw invalid("Transaction request cannot include multiple operations on one item");
}

/** The same JSON for equal parameters, in any order of members. */
function canonical(json: unknown): string {
  return JSON.stringify(json, (_name, value: unknown) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(
      Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)),
    );
  });
}

/** The outcome of one action. */
interface Outcome {
  readonly reason: Reason;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
}

function tryAction(plan: WritePlan): Outcome {
  const { schema, items } = plan.table;
  const before = hasKeyTypes(schema, plan.target) ? items.get(plan.target) : undefined;
  try {
    if (!hasKeyTypes(schema, plan.target)) throw wrongKeyType();
    checkKeyLengths(schema, plan.target);
    if (passesCondition(plan, before)) {
      return { reason: { Code: "None" }, before, after: itemAfter(plan, before) };
    }
  } catch (fault) {
    if (!(fault instanceof ServiceError)) throw fault;
    return refused({ Code: "ValidationError", Message: fault.message }, before);
  }
  const Message = "The conditional request failed";
  return refused(
    { ...itemOnFailure(plan, before), Code: "ConditionalCheckFailed", Message },
    before,
  );
}

function refused(reason: Reason, before: Item | undefined): Outcome {
  return { reason, before, after: before };
}

function refuseCancelled(reasons: readonly Reason[]): void {
  if (reasons.every((reason) => reason.Code === "None")) return;
  const codes = reasons.map((reason) => reason.Code).join(", ");
  throw new ServiceError(
    "TransactionCanceledException",
    `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
    { CancellationReasons: reasons },
  );
}

/** The transactions of one engine. Remembers applied tokens, so that no transaction is applied twice. */
export class Transactions {
  readonly #applied = new Map<string, Applied>();

  write(request: Members, context: Context): Answer {
    const token = request.string("ClientRequestToken") ?? "";
    if (token.length > LONGEST_TOKEN) {
      throw invalid(
        `Value ${token} at 'clientRequestToken' failed to satisfy constraint: Member must have length less than or equal to ${LONGEST_TOKEN}`,
      );
    }
    const drafts = readDrafts(request);
    const parameters = canonical(request.any("TransactItems"));
    const earlier = this.#remembered(token, parameters, context.nowMs);
    if (earlier !== undefined) return replayed(request, earlier);
    const plans = planDrafts(drafts, context.tables);
    const mode = capacityMode(request);
    const usages = apply(plans);
    if (token !== "") {
      this.#applied.set(token, { parameters, plans, untilMs: context.nowMs + TOKEN_LIFE_MS });
    }
    return transactionCapacity(mode, "WriteCapacityUnits", usages);
  }

  #remembered(token: string, parameters: string, nowMs: number): Applied | undefined {
    for (const [known, { untilMs }] of this.#applied) {
      if (untilMs <= nowMs) this.#applied.delete(known);
    }
    const earlier = this.#applied.get(token);
    if (earlier !== undefined && earlier.parameters !== parameters) {
      throw new ServiceError("IdempotentParameterMismatchException", "");
    }
    return earlier;
  }
}

/** Applies all plans or no plan. */
function apply(plans: readonly WritePlan[]): readonly Usage[] {
  const outcomes = plans.map((plan) => ({ plan, ...tryAction(plan) }));
  refuseCancelled(outcomes.map((outcome) => outcome.reason));
  for (const { plan, after } of outcomes) store(plan, after);
  return outcomes.map(({ plan, before, after }) => ({
    table: plan.table.name,
    units: writeUnits(before, after) * TRANSACTION_FACTOR,
  }));
}

/** The answer to a repeated transaction: charges for reads and writes nothing. */
function replayed(request: Members, { plans }: Applied): Answer {
  const usages = plans.map((plan) => ({
    table: plan.table.name,
    units: readUnits(itemBytes(plan.table.items.get(plan.target)), true) * TRANSACTION_FACTOR,
  }));
  return transactionCapacity(capacityMode(request), "ReadCapacityUnits", usages);
}

/** Reads several items at the same instant. */
export function transactGet(request: Members, { tables }: Context): Answer {
  const seen: string[] = [];
  const reads = readActions(request).map((action) => {
    const get = action.members("Get");
    if (get === undefined) {
      throw invalid(
        "Value null at 'transactItems' failed to satisfy constraint: Member must not be null",
      );
    }
    if (!get.has("Key")) throw invalid("Get Condition for key not in key list");
    const { tree, paths } = readProjection(get);
    const table = tables.named(get);
    refuseKeyDocuments(table.schema, paths);
    const key = get.item("Key") ?? new Map();
    checkKey(table.schema, key);
    seen.push(identity(table, key));
    refuseDoubles(seen);
    const found = table.items.get(key);
    return { table, found, projected: found && tree ? project(found, tree) : found };
  });
  const usages = reads.map(({ table, found }) => ({
    table: table.name,
    units: readUnits(itemBytes(found), true) * TRANSACTION_FACTOR,
  }));
  return {
    Responses: reads.map(({ projected }) =>
      projected === undefined ? {} : { Item: itemToWire(projected) },
    ),
    ...transactionCapacity(capacityMode(request), "ReadCapacityUnits", usages),
  };
}
