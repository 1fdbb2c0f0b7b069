import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type MemoryAnswer, MemoryDynamoDB, memoryClient } from "../../../testing/src/index.js";

/** Engines with one error each, most of which real servers have or had. */

type Body = Record<string, unknown>;
type Handle = (operation: string, body: Body) => MemoryAnswer;
type Break = (handle: Handle, operation: string, body: Body) => MemoryAnswer;

/** Makes a client of an engine in memory whose answers `change` makes. */
export function engineWith(change: Break): DynamoDBClient {
  const dynamodb = memoryEngine();
  const handle = dynamodb.handle.bind(dynamodb) as Handle;
  dynamodb.handle = (operation, body) => change(handle, operation, body as Body);
  return memoryClient(dynamodb);
}

/** Makes an engine without an error. */
export function memoryEngine(): MemoryDynamoDB {
  return new MemoryDynamoDB({ nowMs: () => Date.now() });
}

const isRefused = ({ status }: MemoryAnswer): boolean => status !== 200;

/** The same request with a condition that is always true, and that has the same names and values. */
function withoutCondition(body: Body): Body {
  const condition = String(body["ConditionExpression"]);
  return { ...body, ConditionExpression: `${condition} OR NOT ${condition}` };
}

const needsAbsence = (body: Body): boolean =>
  /attribute_not_exists\(#0\)/.test(String(body["ConditionExpression"])) &&
  (body["ExpressionAttributeNames"] as Body)["#0"] === "pk";

function elementsOf(body: Body): [string, Body][] {
  return (body["TransactItems"] as Record<string, Body>[]).flatMap((each) => Object.entries(each));
}

/** Changes each object in an answer, from the inside out. */
function mapped(value: unknown, change: (object: Body) => Body): unknown {
  if (Array.isArray(value)) return value.map((each) => mapped(each, change));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, of]) => [name, mapped(of, change)] as const);
  return change(Object.fromEntries(entries));
}

const answered = (answer: MemoryAnswer, change: (object: Body) => Body): MemoryAnswer => ({
  ...answer,
  body: mapped(answer.body, change) as Body,
});

const withNumbers =
  (change: (digits: string) => string): Break =>
  (handle, operation, body) =>
    answered(handle(operation, body), (object) =>
      typeof object["N"] === "string" ? { N: change(object["N"]) } : object,
    );

function staleReads(): Break {
  const before = new Map<string, MemoryAnswer>();
  return (handle, operation, body) => {
    const { TableName, Key } = body;
    const key = JSON.stringify(Key);
    if (operation === "GetItem") return before.get(key) ?? handle(operation, body);
    if (operation === "UpdateItem") before.set(key, handle("GetItem", { TableName, Key }));
    return handle(operation, body);
  };
}

/** An error by its title, and a check that must find it. */
export const BROKEN: Readonly<Record<string, readonly [check: string, Break]>> = {
  "grants several claims of an absent record (ExtendDB before its pull request 2)": [
    "claims",
    (handle, operation, body) => {
      const answer = handle(operation, body);
      const isWrong = operation === "UpdateItem" && isRefused(answer) && needsAbsence(body);
      return isWrong ? handle(operation, withoutCondition(body)) : answer;
    },
  ],
  "grants several takeovers of a version": [
    "takeovers",
    (handle, operation, body) => {
      const answer = handle(operation, body);
      const isWrong = operation === "UpdateItem" && isRefused(answer) && !needsAbsence(body);
      return isWrong ? handle(operation, withoutCondition(body)) : answer;
    },
  ],
  "deletes an item that another client has just changed (ExtendDB's pull request 338)": [
    "deletes",
    (handle, operation, body) => {
      const answer = handle(operation, body);
      const isWrong = operation === "DeleteItem" && isRefused(answer) && !needsAbsence(body);
      return isWrong ? handle(operation, withoutCondition(body)) : answer;
    },
  ],
  "commits several transactions that claim the same records (ExtendDB before its pull request 326)":
    [
      "multi-claims",
      (handle, operation, body) => {
        const answer = handle(operation, body);
        if (operation !== "TransactWriteItems" || !isRefused(answer)) return answer;
        const elements = elementsOf(body);
        if (!elements.every(([name, of]) => name === "Update" && needsAbsence(of))) return answer;
        for (const [, of] of elements) handle("UpdateItem", withoutCondition(of));
        return { status: 200, body: {} };
      },
    ],
  "applies a part of a transaction that lost a race": [
    "multi-claims",
    (handle, operation, body) => {
      const answer = handle(operation, body);
      const elements = operation === "TransactWriteItems" ? elementsOf(body) : [];
      const isRace = elements.length > 0 && elements.every(([, of]) => needsAbsence(of));
      const [, last] = elements.at(-1) ?? [];
      if (isRace && isRefused(answer)) handle("UpdateItem", withoutCondition(last ?? {}));
      return answer;
    },
  ],
  "evaluates <> on an absent attribute as false (ExtendDB before its pull request 5)": [
    "conditions",
    (handle, operation, body) => {
      const { ConditionExpression: condition } = body;
      if (typeof condition !== "string") return handle(operation, body);
      const wrong = condition.replace(
        /(#[\d.#]+) <> (:\d+)/g,
        "(attribute_exists($1) AND $1 <> $2)",
      );
      return handle(operation, { ...body, ConditionExpression: wrong });
    },
  ],
  "shows no item with a refusal (dynalite)": [
    "refusals",
    (handle, operation, body) => {
      const { ReturnValuesOnConditionCheckFailure: _, ...rest } = body;
      return handle(operation, operation === "TransactWriteItems" ? body : rest);
    },
  ],
  "applies a put that it refuses": [
    "refusals",
    (handle, operation, body) => {
      const answer = handle(operation, body);
      if (operation === "PutItem" && isRefused(answer)) handle(operation, withoutCondition(body));
      return answer;
    },
  ],
  "has no transactions": [
    "transactions",
    (handle, operation, body) =>
      handle(operation === "TransactWriteItems" ? "Nothing" : operation, body),
  ],
  "applies a part of a cancelled transaction": [
    "transactions",
    (handle, operation, body) => {
      const answer = handle(operation, body);
      if (operation === "TransactWriteItems" && isRefused(answer)) {
        for (const [name, of] of elementsOf(body)) handle(`${name}Item`, of);
      }
      return answer;
    },
  ],
  "shows no items with a cancelled transaction": [
    "transactions",
    (handle, operation, body) =>
      answered(handle(operation, body), ({ Code, Message, Item, ...rest }) =>
        Code === undefined ? { ...rest, ...(Item === undefined ? {} : { Item }) } : { Code },
      ),
  ],
  "ignores a ConditionCheck": [
    "condition-checks",
    (handle, operation, body) => {
      if (operation !== "TransactWriteItems") return handle(operation, body);
      const items = (body["TransactItems"] as Body[]).filter((each) => !("ConditionCheck" in each));
      return handle(operation, { ...body, TransactItems: items });
    },
  ],
  "answers strongly consistent reads with old items": ["reads", staleReads()],
  "stores numbers as doubles": ["numbers", withNumbers((digits) => `${Number(digits)}`)],
  "cannot answer requests with nested attributes": [
    "conditions",
    (handle, operation, body) =>
      /#\d+\.#\d+/.test(String(body["ConditionExpression"]))
        ? handle(operation, { ...body, ConditionExpression: "#a.[" })
        : handle(operation, body),
  ],
};

/** A deviation that restricts Holdfast, but makes no lock unsafe. */
export const RESTRICTED: Readonly<Record<string, readonly [check: string, Break]>> = {
  "numbers of 28 exact digits (MiniStack)": [
    "numbers",
    withNumbers((digits) => digits.slice(0, 28).padEnd(digits.length, "0")),
  ],
  "transactions without tokens (moto)": [
    "tokens",
    (handle, operation, { ClientRequestToken: _, ...body }) => handle(operation, body),
  ],
  "no description of TTL": [
    "ttl",
    (handle, operation, body) =>
      handle(operation === "DescribeTimeToLive" ? "Nothing" : operation, body),
  ],
};

/** Makes a client of an engine whose answers have no `Date`. */
export function undatedEngine(): DynamoDBClient {
  const client = memoryClient(memoryEngine());
  const { requestHandler } = client.config;
  const handle = requestHandler.handle.bind(requestHandler);
  requestHandler.handle = async (...call) => {
    const answer = await handle(...call);
    delete answer.response.headers["date"];
    return answer;
  };
  return client;
}

/** Makes a client of an engine whose `Date` stands still, as behind a cache. */
export function stillEngine(): DynamoDBClient {
  const wallMs = Date.now();
  return memoryClient(memoryEngine(), { wallMs: () => wallMs });
}

/**
 * Makes a client whose first takeovers of the record for late writes get no answer, and are applied later: with their
 * condition, as DynamoDB may do, or without.
 */
export function lateEngine(isBlind: boolean): DynamoDBClient {
  const dynamodb = memoryEngine();
  const client = memoryClient(dynamodb);
  let held = 0;
  client.middlewareStack.add(
    (next) => (args) => {
      const input = args.input as unknown as Body;
      const isLate = JSON.stringify(input["Key"] ?? {}).includes('/late"');
      const isTakeover = isLate && input["UpdateExpression"] !== undefined && !needsAbsence(input);
      if (!isTakeover || held >= 8) return next(args);
      held += 1;
      const body = isBlind ? withoutCondition(input) : input;
      setTimeout(() => dynamodb.handle("UpdateItem", body), 300);
      return new Promise(() => undefined);
    },
    { step: "finalizeRequest", name: "late", priority: "low" },
  );
  return client;
}
