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
