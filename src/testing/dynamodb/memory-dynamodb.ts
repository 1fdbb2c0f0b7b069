import type { Answer, Context } from "./context.js";
import { errorBody, ServiceError } from "./errors.js";
import { deleteItem, getItem, putItem, updateItem } from "./item-operations.js";
import { accessDenied, accessesOf, type MemoryAccess } from "./permissions.js";
import { query } from "./query.js";
import { Members } from "./request.js";
import { scan } from "./scan.js";
import { keyOf } from "./schema.js";
import {
  createTable,
  deleteTable,
  describeOneTable,
  describeTimeToLive,
  listTables,
  updateTimeToLive,
} from "./table-operations.js";
import { type Table, Tables } from "./tables.js";
import { Transactions, transactGet } from "./transactions.js";
import type { Item } from "./value.js";

/** What an engine needs from outside. */
export interface MemoryDynamoDBOptions {
  /** Civil time, in milliseconds since 1970: for TTL, tokens of transactions, and tables' dates. */
  readonly nowMs: () => number;
}

/** An answer as it would come over HTTP. */
export interface MemoryAnswer {
  readonly status: number;
  readonly body: { readonly [name: string]: unknown };
}

type Operation = (request: Members, context: Context) => Answer;

/** DynamoDB leaves what expired longer ago than this, taking the attribute for something else. */
const OLDEST_EXPIRY_S = 5 * 365 * 24 * 60 * 60;

/**
 * DynamoDB's API in memory, by request: expressions, transactions, capacity and errors are as the service
 * has them; throttling, conflicts between transactions and stale reads never happen by themselves. Secondary
 * indexes, streams, batches, PartiQL and the parameters from before expressions are refused.
 * It is synchronous and knows no time but what it is given.
 */
export class MemoryDynamoDB {
  /** What whoever asks is allowed; while it is undefined, everything. What is not gets an `AccessDeniedException`. */
  allows: ((access: MemoryAccess) => boolean) | undefined;
  readonly #nowMs: () => number;
  readonly #tables = new Tables();
  readonly #transactions = new Transactions();
  readonly #operations: ReadonlyMap<string, Operation>;

  constructor({ nowMs }: MemoryDynamoDBOptions) {
    this.#nowMs = nowMs;
    this.#operations = new Map<string, Operation>([
      ["GetItem", getItem],
      ["PutItem", putItem],
      ["UpdateItem", updateItem],
      ["DeleteItem", deleteItem],
      ["Query", query],
      ["Scan", scan],
      ["TransactWriteItems", (request, context) => this.#transactions.write(request, context)],
      ["TransactGetItems", transactGet],
      ["CreateTable", createTable],
      ["DescribeTable", describeOneTable],
      ["DeleteTable", deleteTable],
      ["ListTables", listTables],
      ["UpdateTimeToLive", updateTimeToLive],
      ["DescribeTimeToLive", describeTimeToLive],
    ]);
  }

  /**
   * Answers one request. `operation` is the part of `x-amz-target` after the dot; `body` is the parsed JSON.
   * Never throws for what a caller sent.
   */
  handle(operation: string, body: unknown): MemoryAnswer {
    try {
      const run = this.#operations.get(operation);
      if (run === undefined) {
        throw new ServiceError(
          "UnknownOperationException",
          `An unknown operation was requested: ${operation}`,
        );
      }
      this.#authorize(operation, body);
      const context: Context = { tables: this.#tables, nowMs: this.#nowMs() };
      return { status: 200, body: run(new Members(body), context) };
    } catch (fault) {
      if (!(fault instanceof ServiceError)) throw fault;
      return { status: 400, body: errorBody(fault) };
    }
  }

  #authorize(operation: string, body: unknown): void {
    const { allows } = this;
    if (allows === undefined) return;
    const hashKeyOf = (name: string): string | undefined =>
      this.#tables.all().find((table) => table.name === name)?.schema.hash.name;
    const denied = accessesOf(operation, body, hashKeyOf).find((access) => !allows(access));
    if (denied !== undefined) throw accessDenied(denied);
  }

  /**
   * Removes what has expired from every table with TTL on, and answers how many items that were.
   * DynamoDB does so by itself, hours late; here it happens when it is asked for.
   */
  deleteExpired(): number {
    const nowS = this.#nowMs() / 1000;
    let deleted = 0;
    for (const table of this.#tables.all()) {
      const expired = [...table.items.scan()].filter((item) => isExpired(item, table, nowS));
      for (const item of expired) table.items.delete(keyOf(table.schema, item));
      deleted += expired.length;
    }
    return deleted;
  }
}

function isExpired(item: Item, table: Table, nowS: number): boolean {
  const expiry = table.ttlAttribute === undefined ? undefined : item.get(table.ttlAttribute);
  if (expiry?.type !== "N") return false;
  const expiryS = Number(expiry.value);
  return expiryS < nowS && expiryS > nowS - OLDEST_EXPIRY_S;
}
