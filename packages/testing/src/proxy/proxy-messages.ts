import type { IncomingMessage } from "node:http";

/** The parts of DynamoDB's wire protocol that the fault proxy needs. */

/** The body of a request or an answer, parsed. */
export type JsonBody = Readonly<Record<string, unknown>>;

/** Headers in Node.js form: names in lower case. */
export type WireHeaders = NodeJS.Dict<string | string[]>;

/** An answer, whole. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: WireHeaders;
  readonly body: Buffer;
}

/** A request, whole. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: WireHeaders;
  readonly body: Buffer;
}

/** Reads a message to the end; rejects if the connection breaks. */
export async function wholeBody(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The operation in the target header; empty for a request to another service. */
export function operationOf(headers: WireHeaders): string {
  const target = headers["x-amz-target"];
  return typeof target === "string" ? target.slice(target.lastIndexOf(".") + 1) : "";
}

/** The body, if a JSON object. */
export function parsedBody(body: Buffer): JsonBody | undefined {
  try {
    const parsed: unknown = JSON.parse(body.toString());
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is JsonBody {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const METERED_OPERATIONS: ReadonlySet<string> = new Set([
  "BatchGetItem",
  "BatchWriteItem",
  "DeleteItem",
  "GetItem",
  "PutItem",
  "Query",
  "Scan",
  "TransactGetItems",
  "TransactWriteItems",
  "UpdateItem",
]);

/** Adds a request for consumed capacity, if the operation can report it and the client did not ask. */
export function asksForCapacity(operation: string, request: WireRequest): WireRequest {
  const body = parsedBody(request.body);
  if (body === undefined || !METERED_OPERATIONS.has(operation)) return request;
  if ("ReturnConsumedCapacity" in body) return request;
  const asking = JSON.stringify({ ...body, ReturnConsumedCapacity: "TOTAL" });
  return { ...request, body: Buffer.from(asking) };
}

/** The capacity units in an answer, summed over all tables. */
export function consumedUnits(answer: WireAnswer): number | undefined {
  const consumed = parsedBody(answer.body)?.["ConsumedCapacity"];
  if (consumed === undefined) return undefined;
  const units = [consumed].flat().map((one) => (isObject(one) ? one["CapacityUnits"] : undefined));
  return units.reduce<number>((sum, unit) => sum + (typeof unit === "number" ? unit : 0), 0);
}

/** Identifies the content of a `GetItem`: equal identities have equal answers while the item is unchanged. */
export function readIdentity(body: JsonBody | undefined): string {
  const { TableName, Key, ProjectionExpression, ExpressionAttributeNames, AttributesToGet } =
    body ?? {};
  return JSON.stringify([
    TableName,
    Key,
    ProjectionExpression,
    ExpressionAttributeNames,
    AttributesToGet,
  ]);
}

/** An error in DynamoDB's wire form. */
export function errorAnswer(status: number, type: string, message: string, more = {}): WireAnswer {
  const body = Buffer.from(JSON.stringify({ __type: type, message, Message: message, ...more }));
  return {
    status,
    headers: { "content-type": "application/x-amz-json-1.0", "x-amzn-requestid": "FAULTPROXY" },
    body,
  };
}

const DYNAMODB = "com.amazonaws.dynamodb.v20120810#";

/** The answer of a server with an internal error. */
export function internalError(): WireAnswer {
  return errorAnswer(500, `${DYNAMODB}InternalServerError`, "Injected: internal server error.");
}

/** The errors for too many requests. */
export const THROTTLE_ERRORS = Object.freeze([
  "ThrottlingException",
  "ProvisionedThroughputExceededException",
  "RequestLimitExceeded",
] as const);

/** An error for too many requests. */
export type ThrottleError = (typeof THROTTLE_ERRORS)[number];

/** The answer to a throttled request. */
export function throttled(error: ThrottleError): WireAnswer {
  const prefix = error === "ThrottlingException" ? "com.amazon.coral.availability#" : DYNAMODB;
  return errorAnswer(400, prefix + error, "Injected: the rate of requests is too high.");
}

/** The answer while a transaction uses the item; a transaction gets a cancellation instead. */
export function conflict(body: JsonBody | undefined): WireAnswer {
  const actions = body?.["TransactItems"];
  if (!Array.isArray(actions)) {
    const type = `${DYNAMODB}TransactionConflictException`;
    return errorAnswer(400, type, "Injected: transaction is ongoing for the item.");
  }
  const reasons = actions.map((_, index) => {
    const Code = index === 0 ? "TransactionConflict" : "None";
    return index === 0 ? { Code, Message: "Transaction is ongoing for the item" } : { Code };
  });
  const codes = reasons.map(({ Code }) => Code).join(", ");
  const message = `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`;
  const type = `${DYNAMODB}TransactionCanceledException`;
  return errorAnswer(400, type, message, { CancellationReasons: reasons });
}

/** The answer to a request without permission. */
export function accessDenied(operation: string): WireAnswer {
  const message = `Injected: not authorized to perform: dynamodb:${operation}`;
  return errorAnswer(400, "com.amazon.coral.service#AccessDeniedException", message);
}

const HTTP_DATE = new Intl.DateTimeFormat("en-US", {
  timeZone: "UTC",
  hourCycle: "h23",
  weekday: "short",
  day: "2-digit",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

/** Formats an instant, in milliseconds since 1970, for the `Date` header. */
export function httpDate(wallMs: number): string {
  const parts = HTTP_DATE.formatToParts(wallMs).map(({ type, value }) => [type, value]);
  const { weekday, day, month, year, hour, minute, second } = Object.fromEntries(parts);
  return `${weekday}, ${day} ${month} ${year} ${hour}:${minute}:${second} GMT`;
}
