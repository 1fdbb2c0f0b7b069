import { type Holdfast, inspect } from "holdfast";
import { type Inspection, type Survey, type SurveyedLock, survey } from "holdfast/admin";
import { Breaks, systemClock, systemTimers } from "holdfast/internal";
import { failureOf } from "../output/exit-codes.js";
import { type Figures, figuresOf } from "./metrics.js";
import { keyOf, viewOf } from "./view.js";
import { pagesOf, type ViewPage } from "./view-pages.js";
import type { TableView } from "./view-types.js";

/** A reading of the table. */
interface TableReading {
  readonly number: number;
  readonly atMs: number;
  readonly units: number | undefined;
  readonly sessions: TableView["sessions"];
  readonly terms: TableView["terms"];
  /** The view as the viewers get it. */
  readonly pages: readonly ViewPage[];
  readonly figures: readonly Figures[];
  /** False if the table has more records than a reading. */
  readonly isWhole: boolean;
}

// A strong read each, so that a page over a table of dead holders stays cheap.
const MOST_CHECKS = 25;
// Pages ask every second, so a reading that is older than this was not followed by another.
const LEAST_GAP_MS = 5_000;

/**
 * Reads the table for all viewers: at most once a period, and only when a viewer asks.
 *
 * Keeps the last reading when a later reading fails.
 */
export class TableReader {
  readonly #locks: Holdfast;
  readonly #prefix: string;
  readonly #refreshMs: number;
  #last: TableReading | undefined;
  #error: string | undefined;
  #running: Promise<void> | undefined;
  #startedMs = Number.NEGATIVE_INFINITY;
  #dead = new Map<string, Inspection>();
  #units = 0;

  constructor(locks: Holdfast, prefix: string, refreshMs: number) {
    this.#locks = locks;
    this.#prefix = prefix;
    this.#refreshMs = refreshMs;
  }

  get last(): TableReading | undefined {
    return this.#last;
  }

  get error(): string | undefined {
    return this.#error;
  }

  /** The read units since the start, with those of `spend`. */
  get totalUnits(): number {
    return this.#units;
  }

  spend(units: number): void {
    this.#units += units;
  }

  /** Waits for a reading of this period: the last, or a new reading. */
  async refresh(): Promise<void> {
    if (this.#running === undefined && nowMs() - this.#startedMs >= this.#refreshMs) {
      this.#startedMs = nowMs();
      this.#running = this.#read().finally(() => {
        this.#running = undefined;
      });
    }
    // A viewer with an earlier reading need not wait for a table that does not answer.
    if (this.#error === undefined || this.#last === undefined) await this.#running;
  }

  async #read(): Promise<void> {
    try {
      const surveyed = await survey(this.#locks, { prefix: this.#prefix, brief: true });
      const breaks = new Breaks(systemTimers, nowMs);
      const { locks, checks } = await this.#checkEnds(surveyed, breaks);
      const earlier = this.#last?.terms ?? [];
      const isGap = nowMs() - (this.#last?.atMs ?? 0) > Math.max(LEAST_GAP_MS, 3 * this.#refreshMs);
      const reading = { earlier, isGap, nowMs: systemClock.wallMs() };
      const view = await viewOf({ ...surveyed, locks }, reading, breaks);
      const figures = await figuresOf(view, breaks);
      const pages = await pagesOf(view, breaks);
      const units = surveyed.readUnits === undefined ? undefined : surveyed.readUnits + checks;
      this.#units += units ?? 0;
      const number = (this.#last?.number ?? 0) + 1;
      const { sessions, terms } = view;
      const { isWhole } = surveyed;
      this.#last = { number, atMs: nowMs(), units, sessions, terms, pages, figures, isWhole };
      this.#error = undefined;
    } catch (error) {
      this.#error = failureOf(error).message;
    }
  }

  /** Reads locks whose end is past, because only a strong read shows that a holder is dead. A dead holder stays dead. */
  async #checkEnds(
    { locks }: Survey,
    breaks: Breaks,
  ): Promise<{ locks: SurveyedLock[]; checks: number }> {
    const dead = new Map<string, Inspection>();
    let checks = 0;
    const checked: SurveyedLock[] = [];
    for (const { kind, lock } of locks) {
      if (breaks.isDue) await breaks.take();
      const key = keyOf({ kind, name: lock.name, namespace: lock.namespace });
      const known = this.#dead.get(key);
      let found = lock;
      if (isSame(known, lock)) found = { ...lock, appearsExpired: true, acquirableInMs: 0 };
      else if ((lock.endsInMs ?? 0) < 0 && !lock.appearsExpired && checks < MOST_CHECKS) {
        checks += 1;
        const options = { kind, namespace: lock.namespace };
        found = await inspect(this.#locks, lock.name, options);
      }
      if (found.appearsExpired) dead.set(key, found);
      checked.push({ kind, lock: found });
    }
    this.#dead = dead;
    return { locks: checked, checks };
  }
}

function isSame(known: Inspection | undefined, lock: Inspection): known is Inspection {
  return known !== undefined && known.holder === lock.holder && known.version === lock.version;
}

/** Milliseconds on the monotonic clock. */
export function nowMs(): number {
  return systemClock.monotonicMs();
}
