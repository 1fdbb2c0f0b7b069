import { HoldfastError } from "../../errors.js";
import { systemClock } from "../../platform/clock.js";
import type {
  Call,
  Item,
  Query,
  Read,
  ReadAnswer,
  Scan,
  ScanAnswer,
  TablePort,
  Transaction,
  TransactionAnswer,
  Write,
  WriteAnswer,
} from "../../platform/table.js";
import { abortedAnswer, answerOrMisconfigured } from "./answers.js";
import {
  addedCounts,
  NO_COUNTS,
  readUnits,
  sizeBytes,
  type TableCounts,
  writeUnits,
} from "./capacity.js";
import { compareDecimals } from "./decimal.js";
import { checkWrite, holds, normalItem } from "./interpret.js";
import { ItemHistory } from "./item-history.js";
import { attemptedBytes, made } from "./made.js";
import { queryPage, scanPage } from "./pages.js";
import { checkTransaction, type PlannedChange, plannedTransaction, Tokens } from "./transaction.js";

/** How a table in memory is made. */
export interface MemoryTableOptions {
  /**
   * The names of the key attributes. With them, a request with another key answers `misconfigured`, as
   * DynamoDB does. Without them the table takes every request's key as it comes.
   */
  readonly keyAttributes?: readonly string[];
  /** Where the instants in the log come from; a `VirtualTime` will do. Default: this machine's clock. */
  readonly time?: { readonly nowMs: number };
  /** How far behind an eventually consistent read is, in milliseconds of `time`. Default 0. */
  readonly lagMs?: (read: Read) => number;
  /** Whether `log` is kept; default true. Turn it off for a long simulation, and use `onChange`. */
  readonly keepsLog?: boolean;
  /** Called within every change, right after it. */
  readonly onChange?: (change: TableChange) => void;
  /**
   * Whether a transaction's token is remembered for ten minutes of `time`, as DynamoDB does; default true.
   * Without it only the conditions keep one from being applied twice.
   */
  readonly remembersTokens?: boolean;
  /** A page of a scan or query ends with the item that fills it; default 1 MiB, as in DynamoDB. */
  readonly scanPageBytes?: number;
}

/** One change of one item. */
export interface TableChange {
  readonly key: Item;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
  /** When, in milliseconds of the table's `time`. */
  readonly atMs: number;
  /** Through the port; by `putItem` or `deleteItem`; or by `deleteExpired`. */
  readonly by: "write" | "hand" | "ttl";
  /** The request, where it came through the port; undefined for a deletion. */
  readonly write: Write | undefined;
}

/** A table that can be interfered with, as `FaultyTable` does. */
export interface TamperableTable extends TablePort {
  /** Deletes the item, past every condition; false if there was none. */
  deleteItem(key: Item): boolean;
  /** Answers a read from a state that many changes ago, or from the oldest one that is remembered. */
  staleRead(read: Read, changesAgo: number): ReadAnswer;
}

// DynamoDB takes an expiry that is older than this for a mistake, and keeps the item.
const OLDEST_EXPIRY_S = 5 * 365 * 24 * 3600;

/**
 * A table in memory, for tests: the same answers to the same requests as DynamoDB, at once.
 *
 * What it is not: durable, slow, throttled or ever unreachable. It never answers `throttled`,
 * `conflict` or late; wrap it in a `FaultyTable` for those. It has no indexes.
 * A call's `timeoutMs` never passes; a call whose signal has aborted already is not carried out.
 *
 * A write, and a transaction, is one synchronous step: nothing can happen between condition and effect.
 */
export class MemoryTable implements TamperableTable {
  /** What `TablePort` says it is. Set it to simulate a clock that is an hour wrong. */
  clockCorrectionMs = 0;

  readonly #options: MemoryTableOptions;
  readonly #items = new ItemHistory();
  readonly #log: TableChange[] = [];
  readonly #tokens = new Tokens();
  readonly #keyNames: string | undefined;
  #counts: TableCounts = NO_COUNTS;

  constructor(options: MemoryTableOptions = {}) {
    this.#options = options;
    this.#keyNames = options.keyAttributes?.toSorted().join(", ");
  }

  /** Every change so far, oldest first. */
  get log(): readonly TableChange[] {
    return this.#log;
  }

  /** What was asked so far. A new object every time, so that two readings can be compared. */
  get counts(): TableCounts {
    return this.#counts;
  }

  /** Begins to count anew. */
  resetCounts(): void {
    this.#counts = NO_COUNTS;
  }

  async write(write: Write, call: Call): Promise<WriteAnswer> {
    return abortedAnswer(call) ?? this.apply(write);
  }

  /** Carries out a write within this call. */
  apply(write: Write): WriteAnswer {
    return answerOrMisconfigured(() => {
      this.#checkKey(write.key);
      checkWrite(write);
      return this.#applyChecked(write);
    });
  }

  async transact(transaction: Transaction, call: Call): Promise<TransactionAnswer> {
    return abortedAnswer(call) ?? this.applyAll(transaction);
  }

  /** Carries out a transaction within this call. */
  applyAll({ writes, token }: Transaction): TransactionAnswer {
    return answerOrMisconfigured(() => {
      for (const { key } of writes) this.#checkKey(key);
      checkTransaction(writes, token);
      if (this.#tokens.has(token, this.#nowMs())) return { kind: "applied" };
      const plan = plannedTransaction(writes, (key) => this.item(key), made);
      this.#count({ transactions: 1, writeUnits: plan.writeUnits });
      if (plan.refusals !== undefined) return { kind: "refused", refusals: plan.refusals };
      this.#becomeAll(plan.changes, "write");
      if (this.#options.remembersTokens !== false) this.#tokens.add(token, this.#nowMs());
      return { kind: "applied" };
    });
  }

  async read(read: Read, call: Call): Promise<ReadAnswer> {
    return abortedAnswer(call) ?? answerOrMisconfigured(() => this.#readNow(read));
  }

  staleRead(read: Read, changesAgo: number): ReadAnswer {
    return answerOrMisconfigured(() => {
      this.#checkKey(read.key);
      return this.#found(read, this.#items.before(read.key, changesAgo));
    });
  }

  async scan(scan: Scan, call: Call): Promise<ScanAnswer> {
    return abortedAnswer(call) ?? answerOrMisconfigured(() => this.#page(scan));
  }

  async query(query: Query, call: Call): Promise<ScanAnswer> {
    return abortedAnswer(call) ?? answerOrMisconfigured(() => this.#queryNow(query));
  }

  /** The item as it is, at no cost. */
  item(key: Item): Item | undefined {
    return this.#items.now(key);
  }

  /** Every item there is, at no cost, in the order of a scan. */
  items(): Item[] {
    return this.#items.present().map(({ item }) => item);
  }

  /** Puts an item there by hand, past every condition, in the place of what was there. */
  putItem(key: Item, attributes: Item): void {
    this.#checkKey(key);
    this.#become(key, normalItem({ ...attributes, ...key }), "hand");
  }

  deleteItem(key: Item): boolean {
    if (this.item(key) === undefined) return false;
    this.#become(key, undefined, "hand");
    return true;
  }

  /**
   * Deletes, as TTL does, every item whose number in `attribute` (seconds since 1970) is in the past
   * at `nowEpochS`, and answers with those items. DynamoDB takes hours or days about it: call it late.
   */
  deleteExpired(nowEpochS: number, attribute = "expiresAt"): Item[] {
    const now = String(Math.floor(nowEpochS));
    const oldest = String(Math.floor(nowEpochS) - OLDEST_EXPIRY_S);
    const expired = this.#items.present().filter(({ item }) => {
      const value = item[attribute];
      if (value === undefined || !("N" in value)) return false;
      return compareDecimals(value.N, now) < 0 && compareDecimals(value.N, oldest) > 0;
    });
    for (const { key } of expired) this.#become(key, undefined, "ttl");
    return expired.map(({ item }) => item);
  }

  #applyChecked(write: Write): WriteAnswer {
    const before = this.item(write.key);
    if (!holds(write.condition, before)) {
      const units = writeUnits(sizeBytes(before), attemptedBytes(write, before));
      this.#count({ writes: 1, refusedWrites: 1, writeUnits: units });
      return { kind: "refused", item: before };
    }
    const after = made(write, before);
    this.#count({
      writes: 1,
      removals: write.as === "delete" ? 1 : 0,
      writeUnits: writeUnits(sizeBytes(before), sizeBytes(after)),
    });
    this.#become(write.key, after, "write", write);
    return { kind: "applied", item: after };
  }

  #readNow(read: Read): ReadAnswer {
    this.#checkKey(read.key);
    const lagMs = read.consistent ? 0 : (this.#options.lagMs?.(read) ?? 0);
    if (lagMs <= 0) return this.#found(read, this.item(read.key));
    return this.#found(read, this.#items.asOf(read.key, this.#nowMs() - lagMs));
  }

  #found(read: Read, item: Item | undefined): ReadAnswer {
    // A projection saves nothing: the whole item is read, and paid for.
    const units = readUnits(sizeBytes(item), read.consistent);
    this.#count(
      read.consistent
        ? { consistentReads: 1, readUnits: units }
        : { eventualReads: 1, readUnits: units },
    );
    const { attributes } = read;
    if (item === undefined || attributes === undefined) return { kind: "found", item };
    const chosen = Object.entries(item).filter(([name]) => attributes.includes(name));
    return { kind: "found", item: Object.fromEntries(chosen) };
  }

  #page(scan: Scan): ScanAnswer {
    const page = scanPage(this.#items.present(), scan, this.#options.scanPageBytes);
    this.#count({ scans: 1, readUnits: page.readUnits });
    return page;
  }

  #queryNow(query: Query): ScanAnswer {
    const { partition, sort, consistent } = query;
    const key = { [partition.attribute]: { S: partition.value }, [sort.attribute]: { S: sort.to } };
    this.#checkKey(key);
    const lagMs = consistent ? 0 : (this.#options.lagMs?.({ key, consistent }) ?? 0);
    const items =
      lagMs <= 0 ? this.#items.present() : this.#items.presentAsOf(this.#nowMs() - lagMs);
    const page = queryPage(items, query, this.#options.scanPageBytes);
    this.#count({ queries: 1, readUnits: page.readUnits });
    return page;
  }

  #become(key: Item, after: Item | undefined, by: TableChange["by"], write?: Write): void {
    this.#becomeAll([{ key, after, write }], by);
  }

  /** All at once: whoever is told of one of the changes finds the others made. */
  #becomeAll(planned: readonly PlannedChange[], by: TableChange["by"]): void {
    const atMs = this.#nowMs();
    const changes = planned.map(({ key, after, write }): TableChange => {
      const before = this.#items.become(key, after, atMs);
      return { key: normalItem(key), before, after, atMs, by, write };
    });
    if (this.#options.keepsLog !== false) this.#log.push(...changes);
    for (const change of changes) this.#options.onChange?.(change);
  }

  #count(more: Partial<TableCounts>): void {
    this.#counts = addedCounts(this.#counts, more);
  }

  #nowMs(): number {
    return this.#options.time?.nowMs ?? systemClock.monotonicMs();
  }

  #checkKey(key: Item): void {
    const names = Object.keys(key).sort().join(", ");
    const expected = this.#keyNames ?? names;
    const empty = Object.values(key).some((value) => "S" in value && value.S === "");
    if (names === expected && names !== "" && !empty) return;
    const what = empty ? "has an empty value" : `consists of ${names}, not of ${expected}`;
    throw new HoldfastError("misconfigured", `The key of the request ${what}.`);
  }
}
