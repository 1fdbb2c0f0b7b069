import { Bounds } from "../bounded.js";
import { type Clock, epochMsOf, systemClock } from "../clock.js";
import type {
  Call,
  Dated,
  Item,
  Misconfigured,
  NotNow,
  Query,
  Read,
  ReadAnswer,
  Scan,
  ScanAnswer,
  TablePort,
  Transaction,
  TransactionAnswer,
  Unknown,
  Write,
  WriteAnswer,
} from "../table.js";
import { systemTimers, type Timers } from "../timers.js";
import { answerOf, FOR_LOCKS, type TableUse } from "./errors.js";
import { compileProjection } from "./expressions.js";
import { actionOf, type Charged, chargedIn, toldIn, unitsOf, writeInput } from "./inputs.js";
import { type DynamoDBLike, senderOver } from "./sdk.js";
import { isTransport, type OnDate, type Operation, type Sender, type Transport } from "./sender.js";
import { cancellationOf, transactionInput } from "./transactions.js";
import { cancellationRead, refusalRead, unreadIn } from "./unread-refusal.js";
import { wellFormed } from "./well-formed.js";

const AN_HOUR_MS = 3_600_000;
const NO_ATTRIBUTES =
  "The answer to a write has no attributes. A proxy may have changed the answer.";

/** The members that this class reads in the outputs of all operations. */
interface Output extends Charged {
  readonly Attributes?: Item;
  readonly Item?: Item;
  readonly Items?: readonly Item[];
  readonly LastEvaluatedKey?: Item;
}

type Answered = Dated &
  (
    | { readonly kind: "output"; readonly output: Output }
    | Extract<WriteAnswer, { readonly kind: "refused" }>
    | Unknown
    | NotNow
    | Misconfigured
  );

/** The `Date` of one request's answer. */
interface Dating {
  dateMs: number | undefined;
  readonly onDate: OnDate;
}

/**
 * The table port over DynamoDB. No call rejects: every outcome is an answer. The sender decides how a request reaches
 * DynamoDB.
 */
export class DynamoDBTable implements TablePort {
  readonly #send: Sender;
  readonly #table: string;
  readonly #use: TableUse;
  readonly #clock: Clock;
  readonly #timers: Timers;
  #clockCorrectionMs = 0;
  /** By how much the last `Date` was ahead of the wall clock. */
  #lastAheadMs: number | undefined;

  constructor(
    client: DynamoDBLike | Transport,
    table: string,
    clock: Clock = systemClock,
    timers: Timers = systemTimers,
    use = FOR_LOCKS,
  ) {
    this.#table = table;
    this.#clock = clock;
    this.#timers = timers;
    this.#send = isTransport(client) ? client.openSender() : senderOver(client);
    this.#use = { ...use, endpoint: this.#send.lastEndpoint };
  }

  get tellsDate(): boolean {
    return this.#send.tellsDate === true;
  }

  get connections(): number | undefined {
    return this.#send.connections?.();
  }

  get waitingForConnection(): number | undefined {
    return this.#send.waitingForConnection?.();
  }

  get clockCorrectionMs(): number {
    return this.#clockCorrectionMs;
  }

  async write(write: Write, call: Call): Promise<WriteAnswer> {
    const operation = `${actionOf(write)}Item` as const;
    const isUpdate = operation === "UpdateItem";
    const returned = isUpdate ? { ReturnValues: "ALL_NEW" } : {};
    const input = { ...writeInput(write), ...returned, ...unitsOf(call) };
    const answer = await this.#change(operation, write.key, input, call);
    if (answer.kind !== "output") return answer;
    const { Attributes } = answer.output;
    // Every item has at least its key. An output without attributes comes from a proxy, not from DynamoDB.
    if (isUpdate && Attributes === undefined) {
      return { kind: "unknown", cause: new Error(NO_ATTRIBUTES) };
    }
    return { kind: "applied", item: isUpdate ? Attributes : input.Item, ...toldIn(answer, call) };
  }

  async transact(transaction: Transaction, call: Call): Promise<TransactionAnswer> {
    const input = { ...transactionInput(this.#table, transaction), ...unitsOf(call) };
    const sentMs = this.#clock.monotonicMs();
    const ended = (error: unknown): TransactionAnswer => {
      const cancelled = cancellationOf(error, this.#table);
      if (cancelled !== undefined) return this.#asSent(cancelled);
      const answer = answerOf(error, this.#table, "UpdateItem", this.#use);
      return answer.kind === "refused" ? { kind: "unknown", cause: error } : answer;
    };
    const answer = await this.#bounded("TransactWriteItems", input, call, ended);
    if (answer.kind === "output") return { kind: "applied", ...toldIn(answer, call) };
    const unread = unreadIn(answer);
    if (unread === undefined) return answer;
    return cancellationRead(unread.cause, transaction, this.#reading, this.#rest(call, sentMs));
  }

  async read(read: Read, call: Call): Promise<ReadAnswer> {
    const projection =
      read.attributes === undefined ? undefined : compileProjection(read.attributes);
    const input = {
      Key: read.key,
      ConsistentRead: read.consistent,
      ProjectionExpression: projection?.text,
      ExpressionAttributeNames: projection?.names,
      ...unitsOf(call),
    };
    const answer = await this.#ask("GetItem", input, call);
    if (answer.kind === "refused") return { kind: "unknown", cause: answer };
    if (answer.kind !== "output") return answer;
    return { kind: "found", item: answer.output.Item, ...toldIn(answer, call) };
  }

  scan(scan: Scan, call: Call): Promise<ScanAnswer> {
    const { after, mostItems } = scan;
    const input = { ...filterOf(scan), Limit: mostItems, ExclusiveStartKey: after };
    return this.#page("Scan", input, call);
  }

  query(query: Query, call: Call): Promise<ScanAnswer> {
    const { partition, sort } = query;
    const input = {
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
      ExclusiveStartKey: query.after,
    };
    return this.#page("Query", input, call);
  }

  async #page(operation: "Scan" | "Query", input: object, call: Call): Promise<ScanAnswer> {
    const answer = await this.#ask(operation, { ...input, ReturnConsumedCapacity: "TOTAL" }, call);
    if (answer.kind === "refused") return { kind: "unknown", cause: answer };
    if (answer.kind !== "output") return answer;
    const { Items, LastEvaluatedKey } = answer.output;
    return {
      kind: "page",
      dateMs: answer.dateMs,
      items: Items ?? [],
      next: LastEvaluatedKey,
      readUnits: chargedIn(answer.output),
    };
  }

  /** Sends the write of one item. If the SDK cannot parse a refusal, reads the item and answers with what it finds. */
  async #change(operation: Operation, key: Item, input: object, call: Call): Promise<Answered> {
    const sentMs = this.#clock.monotonicMs();
    const answer = await this.#ask(operation, input, call);
    const unread = unreadIn(answer);
    if (unread === undefined) return answer;
    return refusalRead(unread.cause, key, this.#reading, this.#rest(call, sentMs));
  }

  readonly #reading = (read: Read, call: Call): Promise<ReadAnswer> => this.read(read, call);

  /**
   * Returns the bounds of a further request in a call that started at `sentMs`. All requests of a call share one
   * deadline.
   */
  #rest({ timeoutMs, signal }: Call, sentMs: number): Call {
    return { timeoutMs: timeoutMs - (this.#clock.monotonicMs() - sentMs), signal };
  }

  #ask(operation: Operation, input: object, call: Call): Promise<Answered> {
    const full = { TableName: this.#table, ...input };
    return this.#bounded(operation, full, call, (error) =>
      this.#asSent(answerOf(error, this.#table, operation, this.#use)),
    );
  }

  /** Sends one request within its bounds. `ended` returns the answer that an error stands for. */
  async #bounded<Failure extends { readonly kind: string }>(
    operation: Operation,
    input: object,
    call: Call,
    ended: (error: unknown) => Failure,
  ) {
    const bounds = new Bounds(this.#timers, call);
    const dating = this.#dating();
    const sent = this.#send(operation, input, bounds.signal, dating.onDate);
    const answer = wellFormed(await bounds.answerTo<Output, Failure>(sent, ended));
    return { ...this.#placed(answer, call), dateMs: dating.dateMs };
  }

  /** Adds the endpoint to the result of a request that was not answered, and that the caller did not abort. */
  #placed<A extends { readonly kind: string }>(answer: A, { signal }: Call): A {
    if (answer.kind !== "unknown" || signal?.aborted === true) return answer;
    const endpoint = this.#send.lastEndpoint?.();
    return endpoint === undefined ? answer : { ...answer, endpoint };
  }

  /** Returns a receiver for the `Date` of one request's answer. */
  #dating(): Dating {
    const dating: Dating = {
      dateMs: undefined,
      onDate: (date) => {
        dating.dateMs = epochMsOf(date);
        this.#compareClocks(dating.dateMs);
      },
    };
    return dating;
  }

  /** Adds `mayBeRepeated` to a refusal if the user's client may send one request more than once. */
  #asSent<A extends { readonly kind: string }>(answer: A): A {
    const mayBeRepeated = answer.kind === "refused" && this.#send.maySendAgain === true;
    return mayBeRepeated ? { ...answer, mayBeRepeated } : answer;
  }

  #compareClocks(serverMs: number | undefined): void {
    if (serverMs === undefined) return;
    const aheadMs = serverMs - this.#clock.wallMs();
    // A single `Date` may be wrong by any length. So of the last two, the one nearer to the wall clock counts.
    const beforeMs = this.#lastAheadMs ?? aheadMs;
    this.#lastAheadMs = aheadMs;
    const nearerMs = Math.abs(beforeMs) < Math.abs(aheadMs) ? beforeMs : aheadMs;
    this.#clockCorrectionMs = Math.abs(nearerMs) > AN_HOUR_MS ? nearerMs : 0;
  }
}

function filterOf({ prefixes }: Scan): object {
  if (prefixes.length === 0) return {};
  const conditions = prefixes.map((_, at) => `begins_with(#${at}, :${at})`);
  const names = prefixes.map(({ attribute }, at) => [`#${at}`, attribute] as const);
  const values = prefixes.map(({ value }, at) => [`:${at}`, { S: value }] as const);
  return {
    FilterExpression: conditions.join(" OR "),
    ExpressionAttributeNames: Object.fromEntries(names),
    ExpressionAttributeValues: Object.fromEntries(values),
  };
}
