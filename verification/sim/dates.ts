import { type Duration, inMs } from "../../packages/holdfast/src/internal/duration.js";
import { endIn, stringIn } from "../../packages/holdfast/src/native/native-values.js";
import type { Item } from "../../packages/holdfast/src/platform/table.js";
import { DatedTable } from "../../packages/testing/src/table/dated-table.js";
import type { TamperableTable } from "../../packages/testing/src/table/memory-table.js";
import { type SeededRandom, seededRandom } from "../../packages/testing/src/time/seeded-random.js";
import type { Dates } from "./terms.js";

/**
 * Draws the servers' clocks of a run, which differ by at most `mostMs`. Undefined: answers have no `Date`. A difference
 * above a quarter of a lease may cost a holder its lease, because a holder takes the safe side.
 */
export function datesOf(random: SeededRandom, mostMs: number): Dates | undefined {
  if (random.chance(0.3)) return undefined;
  const differMs = random.chance(0.3) ? 0 : random.integer(1, Math.ceil(mostMs));
  return { differMs, boundMs: differMs + (random.chance(0.5) ? 0 : random.integer(0, 500)) };
}

/** Lets some answers have a single wrong `Date`, in half of the runs. */
export function withWrongDates(seed: number, dates: Dates): Dates {
  const random = seededRandom(1_000_003 * seed + 17);
  return random.chance(0.5) ? dates : { ...dates, wrongPart: 0.02 + 0.3 * random.fraction() };
}

/** Returns the clock of the server that answers next, from the true time. */
export function serverMs(random: SeededRandom, { differMs }: Dates, trueMs: number): number {
  // The ends are more likely than the middle, since margins fail there.
  if (random.chance(0.6)) return trueMs + (random.chance(0.5) ? 0 : differMs);
  return trueMs + differMs * random.fraction();
}

/** The servers of one run, from a source of random numbers of their own: a run without `Date`s is the same as ever. */
export class Servers {
  readonly #random: SeededRandom;
  readonly #dates: Dates | undefined;

  /** In half of the runs, the servers' clocks differ so little that no holder loses a lease for this reason. */
  constructor(seed: number, leaseMs: number) {
    this.#random = seededRandom(1_000_003 * seed + 13);
    this.#dates = datesOf(this.#random, this.#random.chance(0.5) ? leaseMs / 10 : 4_000);
  }

  /** The option `maxClockError` of every client of the run. */
  get options(): { readonly maxClockError?: Duration } {
    return this.#dates === undefined ? {} : { maxClockError: inMs(this.#dates.boundMs) };
  }

  /** Whether some server may show the lease of this record as over, by more than the bound. */
  mayShowOver(item: Item, trueMs: number): boolean {
    const endMs = endIn(item, stringIn(item, "holder") ?? "");
    if (this.#dates === undefined || endMs === undefined) return false;
    return trueMs + this.#dates.differMs >= endMs + this.#dates.boundMs;
  }

  /** Returns the table as the servers answer. */
  before(table: TamperableTable, trueMs: () => number): TamperableTable {
    const dates = this.#dates;
    if (dates === undefined) return table;
    return new DatedTable(table, () => serverMs(this.#random, dates, trueMs()));
  }
}
