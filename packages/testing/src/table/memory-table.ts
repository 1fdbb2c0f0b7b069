import { HoldfastError } from "holdfast";
import {
  type Call,
  checkNames,
  type Dated,
  type Item,
  type Query,
  type Read,
  type ReadAnswer,
  type Scan,
  type ScanAnswer,
  systemClock,
  type TablePort,
  type Transaction,
  type TransactionAnswer,
  type Write,
  type WriteAnswer,
} from "holdfast/internal";
import { abortedAnswer, answerOrMisconfigured, dateOf } from "./answers.js";
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
import {
  MEMORY_TABLE_NAMES,
  type MemoryTableOptions,
  type TableChange,
} from "./memory-table-options.js";
import { queryPage, scanPage } from "./pages.js";
import { checkTransaction, type PlannedChange, plannedTransaction, Tokens } from "./transaction.js";

export type { MemoryTableOptions, TableChange };

/** A table with operations outside the port, which `FaultyTable` needs. */
export interface TamperableTable extends TablePort {
  /** Deletes the item without a condition; false if absent. */
  deleteItem(key: Item): boolean;
  /** Answers a read from the state `changesAgo` changes ago, or from the oldest remembered state. */
  staleRead(read: Read, changesAgo: number): ReadAnswer;
}

// DynamoDB treats an older expiry as a mistake and keeps the item.
const OLDEST_EXPIRY_S = 5 * 365 * 24 * 3600;

/**
 * A table in memory, for tests. Answers like DynamoDB, immediately, with the `Date` of its own clock.
 *
 * Not durable, slow, throttled or unreachable: never answers `throttled`, `conflict` or late. Wrap the table in
 * a `FaultyTable` for such answers. There are no indexes. A call's `timeoutMs` never passes; a call whose
 * signal has already aborted is not applied.
 *
 * A write or transaction is one synchronous step: nothing can happen between condition and effect.
 */
export class MemoryTable implements TamperableTable {
  /** As in `TablePort`. Set a value to simulate a clock that is an hour wrong. */
  clockCorrectionMs = 0;
  readonly tellsDate: boolean;

  readonly #options: MemoryTableOptions;
  readonly #items = new ItemHistory();
  readonly #log: TableChange[] = [];
  readonly #tokens = new Tokens();
  readonly #keyNames: string | undefined;
  #counts: TableCounts = NO_COUNTS;

  constructor(options: MemoryTableOptions = {}) {
    this.#options = checkNames("MemoryTable", options, MEMORY_TABLE_NAMES);
    const { time, tellsDate = time === undefined || time.wallMs !== undefined } = options;
    this.tellsDate = tellsDate;
    this.#keyNames = options.keyAttributes?.toSorted().join(", ");
  }

  /** Every change so far, oldest first. */
  get log(): readonly TableChange[] {
    return this.#log;
  }

  /** The counts so far, as a new object on every read, so that two readings can be compared. */
  get counts(): TableCounts {
    return this.#counts;
  }

  /** Begins to count anew. */
  resetCounts(): void {
    this.#counts = NO_COUNTS;
  }

  async write(write: Write, call: Call): Promise<WriteAnswer> {
    return abortedAnswer(call) ?? this.#dated(this.apply(write));
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
    return abortedAnswer(call) ?? this.#dated(this.applyAll(transaction));
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
    return abortedAnswer(call) ?? this.#dated(answerOrMisconfigured(() => this.#readNow(read)));
  }

  staleRead(read: Read, changesAgo: number): ReadAnswer {
    return this.#dated(
      answerOrMisconfigured(() => {
        this.#checkKey(read.key);
        return this.#found(read, this.#items.before(read.key, changesAgo));
      }),
    );
  }

  async scan(scan: Scan, call: Call): Promise<ScanAnswer> {
    return abortedAnswer(call) ?? this.#dated(answerOrMisconfigured(() => this.#page(scan)));
  }

  async query(query: Query, call: Call): Promise<ScanAnswer> {
    return abortedAnswer(call) ?? this.#dated(answerOrMisconfigured(() => this.#queryNow(query)));
  }

  /** The current item. Does not count as a request. */
  item(key: Item): Item | undefined {
    return this.#items.now(key);
  }

  /** Every item there is, at no cost, in the order of a scan. */
  items(): Item[] {
    return this.#items.present().map(({ item }) => item);
  }

  /** Stores an item without a condition, and replaces the old item. */
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
   * Deletes expired items as TTL does, and returns the deleted items. An item is expired if its number in
   * `attribute` (seconds since 1970) is before `nowEpochS`. DynamoDB deletes hours or days late, so call late.
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
    // A projection does not reduce the cost: DynamoDB reads the whole item.
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

  /** Applies all changes before the first callback, so that a callback never sees a partial transaction. */
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

  #dated<A extends object>(answer: A): A & Dated {
    const { time = { wallMs: systemClock.wallMs() } } = this.#options;
    return this.tellsDate ? { ...answer, dateMs: dateOf(time.wallMs) } : answer;
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
