import { type Holdfast, inspect } from "holdfast";
import {
  type ForcedRelease,
  type History,
  history,
  listQueue,
  type PermitKind,
} from "holdfast/admin";
import { systemClock } from "holdfast/internal";
import { failureOf } from "../output/exit-codes.js";
import { hasQueue, isPermitKind } from "../output/permits.js";
import { type DetailReading, detailOf } from "./detail.js";
import { permitsOf, rowOfPermits } from "./permits.js";
import { nowMs, type TableReader } from "./table-reader.js";
import { keyOf, rowOf } from "./view.js";
import type { Detail, Named } from "./view-types.js";

/** A reading of one record. */
interface Entry {
  startedMs: number;
  number: number;
  atMs?: number;
  units?: number;
  running?: Promise<void> | undefined;
  detail?: Detail;
  error?: string | undefined;
  /** The history, and the last grant and forced release before it: with these a history changes. */
  history?: {
    readonly state: string;
    readonly found: History | undefined;
    /** When to read it again in the same state. */
    readonly againAtMs: number;
  };
}

/** The reading of a record, without its history. */
interface Found extends Omit<DetailReading, "history" | "place"> {
  readonly fence: bigint | undefined;
  readonly forced: ForcedRelease | undefined;
  readonly units: number;
}

// The readings of earlier pages are dropped.
const MOST_ENTRIES = 100;
const HISTORY_UNITS = 8.5;
// Longer than the write of a note, which follows the grant, takes without a fault.
const NOTE_MS = 1_000;

/** Reads single records for all viewers: each at most once a period, and only when a viewer asks. */
export class DetailReader {
  readonly #locks: Holdfast;
  readonly #reader: TableReader;
  readonly #place: readonly string[];
  readonly #refreshMs: number;
  readonly #entries = new Map<string, Entry>();

  constructor(locks: Holdfast, reader: TableReader, place: readonly string[], refreshMs: number) {
    this.#locks = locks;
    this.#reader = reader;
    this.#place = place;
    this.#refreshMs = refreshMs;
  }

  async refresh(record: Named): Promise<Readonly<Entry>> {
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
  expire(record: Named): void {
    this.#entryOf(record).startedMs = Number.NEGATIVE_INFINITY;
  }

  #entryOf(record: Named): Entry {
    const key = keyOf(record);
    const entry = this.#entries.get(key) ?? { startedMs: Number.NEGATIVE_INFINITY, number: 0 };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MOST_ENTRIES && oldest !== undefined) this.#entries.delete(oldest);
    return entry;
  }

  async #read(record: Named, entry: Entry): Promise<void> {
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

  async #readingOf(record: Named, entry: Entry): Promise<DetailReading> {
    const { kind, name } = record;
    const shared = isPermitKind(kind) ? await this.#sharedOf(kind, name) : undefined;
    const { fence, forced, waiters, units, ...found } = shared ?? (await this.#heldOf(record));
    // A forced release is noted without a grant.
    const state = `${fence} ${forced?.at}`;
    const isSame = entry.history?.state === state;
    const isKnown = isSame && nowMs() < (entry.history?.againAtMs ?? 0);
    if (!isKnown) {
      const found = await this.#historyOf(record);
      const hasNote = fence === undefined || found?.grants[0]?.fence === fence;
      // Once more only: most grants without a note never get one.
      const againAtMs = isSame || hasNote ? Number.POSITIVE_INFINITY : nowMs() + NOTE_MS;
      entry.history = { state, found, againAtMs };
    }
    entry.units =
      units +
      (hasQueue(kind) ? Math.max(0.5, Math.ceil(waiters.length / 4) / 2) : 0) +
      (isKnown || kind === "once" ? 0 : HISTORY_UNITS);
    this.#reader.spend(entry.units);
    return { ...found, waiters, history: entry.history?.found, place: this.#place };
  }

  async #heldOf({ kind, name, namespace }: Named): Promise<Found> {
    if (isPermitKind(kind)) throw new Error("A record with permits has several holders.");
    const { lock, waiters } =
      kind === "lock"
        ? await listQueue(this.#locks, name, namespace === undefined ? {} : { namespace })
        : { lock: await inspect(this.#locks, name, { kind }), waiters: [] };
    const { fence, forced, data, session } = lock;
    const sessions = this.#reader.last?.sessions ?? [];
    const onSession = sessions.find(({ id }) => id === session);
    const row = rowOf(kind, lock, { waiters: waiters.length, nowMs: systemClock.wallMs() });
    const units = session === undefined ? 1 : 2;
    return { row, fence, forced, data, permits: [], waiters, onSession, units };
  }

  async #sharedOf(kind: PermitKind, name: string): Promise<Found> {
    const { lock, waiters } = await listQueue(this.#locks, name, { kind });
    const { fence, forced } = lock;
    const row = rowOfPermits(lock, { waiters: waiters.length });
    const permits = permitsOf(lock);
    // A read of the record, and at most one of each different session: an inspection reads no more than 100.
    const units = 1 + Math.min(100, new Set(permits.map(({ session }) => session)).size);
    return { row, fence, forced, permits, waiters, onSession: undefined, units };
  }

  async #historyOf({ kind, name, namespace }: Named): Promise<History | undefined> {
    if (kind === "once") return undefined;
    return isPermitKind(kind)
      ? history(this.#locks, name, { kind })
      : history(this.#locks, name, { kind, namespace });
  }
}
