import type { History, RecordKind } from "../../admin/index.js";
import type { Holdfast } from "../../index.js";
import { systemClock } from "../../platform/clock.js";
import { failureOf } from "../output/exit-codes.js";
import { type DetailReading, detailOf } from "./detail.js";
import { nowMs, type TableReader } from "./table-reader.js";
import { keyOf, rowOf } from "./view.js";
import type { Detail, Kind } from "./view-types.js";

/** Names one record. */
export interface RecordName {
  readonly kind: Kind;
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** A reading of one record. */
interface Entry {
  startedMs: number;
  number: number;
  atMs?: number;
  units?: number;
  running?: Promise<void> | undefined;
  detail?: Detail;
  error?: string | undefined;
  /** The history of this fence: a history changes with a grant only. */
  history?: { readonly fence: string | undefined; readonly found: History | undefined };
}

// The readings of earlier pages are dropped.
const MOST_ENTRIES = 100;
const HISTORY_UNITS = 8.5;

/** Reads single records for all viewers: each at most once a period, and only when a viewer asks. */
export class DetailReader {
  readonly #locks: Holdfast;
  readonly #reader: TableReader;
  readonly #table: string;
  readonly #refreshMs: number;
  readonly #entries = new Map<string, Entry>();

  constructor(locks: Holdfast, reader: TableReader, table: string, refreshMs: number) {
    this.#locks = locks;
    this.#reader = reader;
    this.#table = table;
    this.#refreshMs = refreshMs;
  }

  async refresh(record: RecordName): Promise<Readonly<Entry>> {
    const entry = this.#entryOf(record);
    if (entry.running === undefined && nowMs() - entry.startedMs >= this.#refreshMs) {
      entry.startedMs = nowMs();
      entry.running = this.#read(record, entry).finally(() => {
        entry.running = undefined;
      });
    }
    if (entry.error === undefined || entry.detail === undefined) await entry.running;
    return entry;
  }

  /** Lets the next viewer read at once, after a forced release. */
  expire(record: RecordName): void {
    this.#entryOf(record).startedMs = Number.NEGATIVE_INFINITY;
  }

  #entryOf(record: RecordName): Entry {
    const key = keyOf(record);
    const entry = this.#entries.get(key) ?? { startedMs: Number.NEGATIVE_INFINITY, number: 0 };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MOST_ENTRIES && oldest !== undefined) this.#entries.delete(oldest);
    return entry;
  }

  async #read(record: RecordName, entry: Entry): Promise<void> {
    try {
      const reading = await this.#readingOf(record, entry);
      entry.detail = detailOf(reading);
      entry.atMs = nowMs();
      entry.number += 1;
      entry.error = undefined;
    } catch (error) {
      entry.error = failureOf(error).message;
    }
  }

  async #readingOf({ kind, name, namespace }: RecordName, entry: Entry): Promise<DetailReading> {
    const { admin } = this.#locks;
    const { lock, waiters } =
      kind === "lock"
        ? await admin.queue(name, { ...(namespace === undefined ? {} : { namespace }) })
        : { lock: await this.#locks.inspect(name, { kind }), waiters: [] };
    const fence = lock.fence?.toString();
    const isKnown = entry.history !== undefined && entry.history.fence === fence;
    if (!isKnown) {
      entry.history = { fence, found: await this.#historyOf(kind, name, namespace) };
    }
    const sessions = this.#reader.last?.view.sessions ?? [];
    const ofSession = sessions.find(({ id }) => id === lock.session)?.locks ?? [];
    entry.units =
      (lock.session === undefined ? 1 : 2) +
      (kind === "lock" ? Math.max(0.5, Math.ceil(waiters.length / 4) / 2) : 0) +
      (isKnown || kind === "once" ? 0 : HISTORY_UNITS);
    this.#reader.spend(entry.units);
    const beside = { waiters: waiters.length, nowMs: systemClock.wallMs() };
    const row = rowOf(kind, lock, beside);
    return { row, lock, waiters, history: entry.history?.found, ofSession, table: this.#table };
  }

  async #historyOf(
    kind: RecordKind,
    name: string,
    namespace: string | undefined,
  ): Promise<History | undefined> {
    if (kind === "once") return undefined;
    return this.#locks.admin.history(name, { kind, namespace });
  }
}
