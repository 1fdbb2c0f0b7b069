import {
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  type GetItemCommandOutput,
  PutItemCommand,
  QueryCommand,
  type QueryCommandOutput,
  ScanCommand,
  type ScanCommandOutput,
  UpdateItemCommand,
  type UpdateItemCommandOutput,
} from "@aws-sdk/client-dynamodb";
import { bounded } from "./bounded.js";
import { type Clock, epochMsOf, systemClock } from "./clock.js";
import { answerOf, FOR_LOCKS, type TableUse } from "./dynamodb-errors.js";
import { compileCondition, compileProjection, compileWrite } from "./expressions.js";
import type {
  Call,
  Item,
  Misconfigured,
  NotNow,
  Query,
  Read,
  ReadAnswer,
  Scan,
  ScanAnswer,
  TablePort,
  Unknown,
  Write,
  WriteAnswer,
} from "./table.js";
import { systemTimers, type Timers } from "./timers.js";

/**
 * What is needed of an SDK v3 client: a `DynamoDBClient`, or lib-dynamodb's document client, which
 * sends low-level commands through the same stack. By shape, so that a second copy of the SDK fits.
 */
export interface DynamoDBLike {
  readonly config: object;
  send(command: never, options?: { readonly abortSignal?: AbortSignal }): Promise<unknown>;
}

const AN_HOUR_MS = 3_600_000;

/** The table port over the AWS SDK v3. Never rejects; every outcome is an answer. */
export class DynamoDBTable implements TablePort {
  readonly #client: DynamoDBClient;
  readonly #table: string;
  readonly #use: TableUse;
  readonly #clock: Clock;
  readonly #timers: Timers;
  #clockCorrectionMs = 0;

  constructor(
    client: DynamoDBLike,
    table: string,
    clock: Clock = systemClock,
    timers: Timers = systemTimers,
    use = FOR_LOCKS,
  ) {
    this.#table = table;
    this.#use = use;
    this.#clock = clock;
    this.#timers = timers;
    this.#client = withoutRetries(client, (date) => this.#compareClocks(date));
  }

  get clockCorrectionMs(): number {
    return this.#clockCorrectionMs;
  }

  async write(write: Write, call: Call): Promise<WriteAnswer> {
    if (write.as === "put") return this.#put(write, call);
    if (write.as === "delete") return this.#delete(write, call);
    const { text, update, names, values } = compileWrite(write.condition, write.change);
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: write.key as UpdateItemCommand["input"]["Key"],
      ConditionExpression: text,
      UpdateExpression: update,
      ExpressionAttributeNames: names,
      ExpressionAttributeValues: values as UpdateItemCommand["input"]["ExpressionAttributeValues"],
      ReturnValues: "ALL_NEW",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    });
    const answer = await this.#send<UpdateItemCommandOutput>("UpdateItem", command, call);
    return answer.kind === "output"
      ? { kind: "applied", item: (answer.output.Attributes ?? {}) as Item }
      : answer;
  }

  async #put(write: Write, call: Call): Promise<WriteAnswer> {
    const item = { ...write.change.set, ...write.key } as Item;
    const command = new PutItemCommand({
      ...this.#conditional(write),
      Item: item as PutItemCommand["input"]["Item"],
    });
    const answer = await this.#send("PutItem", command, call);
    return answer.kind === "output" ? { kind: "applied", item } : answer;
  }

  async #delete(write: Write, call: Call): Promise<WriteAnswer> {
    const command = new DeleteItemCommand({
      ...this.#conditional(write),
      Key: write.key as DeleteItemCommand["input"]["Key"],
    });
    const answer = await this.#send("DeleteItem", command, call);
    return answer.kind === "output" ? { kind: "applied", item: undefined } : answer;
  }

  #conditional({ condition }: Write) {
    const { text, names, values } = compileCondition(condition);
    return {
      TableName: this.#table,
      ConditionExpression: text,
      ExpressionAttributeNames: names,
      // An expression without values must not be given any.
      ExpressionAttributeValues: (Object.keys(values).length === 0
        ? undefined
        : values) as UpdateItemCommand["input"]["ExpressionAttributeValues"],
      ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const,
    };
  }

  async read(read: Read, call: Call): Promise<ReadAnswer> {
    const projection =
      read.attributes === undefined ? undefined : compileProjection(read.attributes);
    const command = new GetItemCommand({
      TableName: this.#table,
      Key: read.key as GetItemCommand["input"]["Key"],
      ConsistentRead: read.consistent,
      ProjectionExpression: projection?.text,
      ExpressionAttributeNames: projection?.names,
    });
    const answer = await this.#send<GetItemCommandOutput>("GetItem", command, call);
    if (answer.kind === "refused") return { kind: "unknown", cause: answer };
    return answer.kind === "output"
      ? { kind: "found", item: answer.output.Item as Item | undefined }
      : answer;
  }

  async scan(scan: Scan, call: Call): Promise<ScanAnswer> {
    const command = new ScanCommand({
      TableName: this.#table,
      ...(scan.prefix === undefined
        ? {}
        : {
            FilterExpression: "begins_with(#0, :0)",
            ExpressionAttributeNames: { "#0": scan.prefix.attribute },
            ExpressionAttributeValues: { ":0": { S: scan.prefix.value } },
          }),
      ExclusiveStartKey: scan.after as ScanCommand["input"]["ExclusiveStartKey"],
      ReturnConsumedCapacity: "TOTAL",
    });
    return this.#page("Scan", command, call);
  }

  async query(query: Query, call: Call): Promise<ScanAnswer> {
    const { partition, sort } = query;
    const command = new QueryCommand({
      TableName: this.#table,
      KeyConditionExpression: "#0 = :0 AND #1 BETWEEN :1 AND :2",
      ExpressionAttributeNames: { "#0": partition.attribute, "#1": sort.attribute },
      ExpressionAttributeValues: {
        ":0": { S: partition.value },
        ":1": { S: sort.from },
        ":2": { S: sort.to },
      },
      ConsistentRead: query.consistent,
      ScanIndexForward: query.isDescending !== true,
      Limit: query.mostItems,
      ExclusiveStartKey: query.after as QueryCommand["input"]["ExclusiveStartKey"],
      ReturnConsumedCapacity: "TOTAL",
    });
    return this.#page("Query", command, call);
  }

  async #page(
    operation: "Scan" | "Query",
    command: ScanCommand | QueryCommand,
    call: Call,
  ): Promise<ScanAnswer> {
    const answer = await this.#send<ScanCommandOutput | QueryCommandOutput>(
      operation,
      command,
      call,
    );
    if (answer.kind === "refused") return { kind: "unknown", cause: answer };
    if (answer.kind !== "output") return answer;
    const { Items, LastEvaluatedKey, ConsumedCapacity } = answer.output;
    return {
      kind: "page",
      items: (Items ?? []) as Item[],
      next: LastEvaluatedKey as Item | undefined,
      readUnits: ConsumedCapacity?.CapacityUnits,
    };
  }

  #send<Output>(
    operation: string,
    command: unknown,
    call: Call,
  ): Promise<
    | { readonly kind: "output"; readonly output: Output }
    | Extract<WriteAnswer, { readonly kind: "refused" }>
    | Unknown
    | NotNow
    | Misconfigured
  > {
    return bounded(
      this.#timers,
      call,
      (abortSignal) => this.#client.send(command as GetItemCommand, { abortSignal }),
      (error) => answerOf(error, this.#table, operation, this.#use),
    );
  }

  #compareClocks(date: string | undefined): void {
    const serverMs = epochMsOf(date);
    if (serverMs === undefined) return;
    const aheadMs = serverMs - this.#clock.wallMs();
    this.#clockCorrectionMs = Math.abs(aheadMs) > AN_HOUR_MS ? aheadMs : 0;
  }
}

interface Stack {
  clone(): Stack;
  add(middleware: unknown, options: object): void;
}

/**
 * The same client, without the SDK's own retries, and with a look at the `Date` of each answer. The
 * kernel makes its own attempts: an attempt of the SDK's that is still on its way after another was
 * answered is the very thing that turns a success into a failed condition. A client of another shape
 * is used as it is; its answers then say how often they were tried.
 */
export function withoutRetries(
  client: DynamoDBLike,
  onDate: (date: string | undefined) => void,
): DynamoDBClient {
  const stack = (client as { middlewareStack?: Stack }).middlewareStack;
  if (typeof stack?.clone !== "function") return client as unknown as DynamoDBClient;
  const own = stack.clone();
  // In place of the SDK's: other middleware finds its own place by this name.
  own.add((next: (args: unknown) => unknown) => (args: unknown) => next(args), {
    name: "retryMiddleware",
    step: "finalizeRequest",
    priority: "high",
    override: true,
  });
  own.add(
    (next: (args: unknown) => Promise<{ response?: { headers?: Record<string, string> } }>) =>
      async (args: unknown) => {
        const result = await next(args);
        onDate(result.response?.headers?.["date"]);
        return result;
      },
    { name: "holdfastDate", step: "deserialize", priority: "low", override: true },
  );
  return Object.create(client, { middlewareStack: { value: own } }) as DynamoDBClient;
}
