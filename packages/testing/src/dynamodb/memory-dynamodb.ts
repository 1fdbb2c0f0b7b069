import { HoldfastError } from "holdfast";
import { checkNames, type OptionNames } from "holdfast/internal";
import type { Answer, Context } from "./context.js";
import { errorBody, ServiceError } from "./errors.js";
import { deleteItem, getItem, putItem, updateItem } from "./operations/item-operations.js";
import { query } from "./operations/query.js";
import { Members } from "./operations/request.js";
import { scan } from "./operations/scan.js";
import {
  createTable,
  deleteTable,
  describeOneTable,
  describeTimeToLive,
  listTables,
  updateTimeToLive,
} from "./operations/table-operations.js";
import { Transactions, transactGet } from "./operations/transactions.js";
import { accessDenied, accessesOf, type MemoryAccess } from "./permissions.js";
import { keyOf } from "./storage/schema.js";
import { type Table, Tables } from "./storage/tables.js";
import type { Item } from "./storage/value.js";

/** The outside dependencies of an engine. */
export interface MemoryDynamoDBOptions {
  /** Wall-clock time, in milliseconds since 1970: for TTL, tokens of transactions, and tables' dates. */
  readonly nowMs: () => number;
}

const NAMES: OptionNames<MemoryDynamoDBOptions> = { nowMs: true };

/** An answer as sent over HTTP. */
export interface MemoryAnswer {
  readonly status: number;
  readonly body: { readonly [name: string]: unknown };
}

type Operation = (request: Members, context: Context) => Answer;

/** DynamoDB does not delete items that expired longer ago, because the attribute may have another meaning. */
const OLDEST_EXPIRY_S = 5 * 365 * 24 * 60 * 60;

/**
 * DynamoDB's API in memory, by request. Expressions, transactions, capacity and errors follow the service.
 * Throttling, transaction conflicts and stale reads never happen on their own. Secondary indexes, streams,
 * batches, PartiQL and legacy parameters are refused. The engine is synchronous and reads time only from its
 * options.
 */
export class MemoryDynamoDB {
  /**
   * The permissions of the caller; undefined allows everything. A forbidden request gets an
   * `AccessDeniedException`.
   */
  allows: ((access: MemoryAccess) => boolean) | undefined;
  /** @internal The engine's clock. */
  readonly nowMs: () => number;
  readonly #tables = new Tables();
  readonly #transactions = new Transactions();
  readonly #operations: ReadonlyMap<string, Operation>;

  constructor(options: MemoryDynamoDBOptions) {
    const { nowMs } = checkNames("MemoryDynamoDB", options, NAMES);
    if (typeof nowMs !== "function") {
      throw new HoldfastError("invalid-argument", "The option `nowMs` must be a function.");
    }
    this.nowMs = nowMs;
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
   * Answers one request. Never throws for a caller's error. `operation` is the part of `x-amz-target` after the
   * dot; `body` is the parsed JSON.
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
      const context: Context = { tables: this.#tables, nowMs: this.nowMs() };
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
   * Deletes expired items from every table with TTL on. Returns the number of deleted items. DynamoDB deletes
   * expired items hours late; this engine deletes only on this call.
   */
  deleteExpired(): number {
    const nowS = this.nowMs() / 1000;
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
