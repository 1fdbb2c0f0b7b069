import type { Clock } from "../../packages/holdfast/src/platform/clock.js";
import type { Call, Dated, TablePort } from "../../packages/holdfast/src/platform/table.js";
import type { SeededRandom } from "../../packages/testing/src/time/seeded-random.js";

/** How often answers to one client have a wrong `Date`, and which. */
export interface WrongDates {
  readonly random: SeededRandom;
  /** The part of the answers with a wrong `Date`. */
  readonly part: () => number;
  /** Whether a wrong `Date` may be before the true time; it may always be after it. */
  readonly mayBeBehind: () => boolean;
  readonly clock: Clock;
  /** Whether the client's wall clock is right: if not, its first answer is right. */
  readonly isWallRight: () => boolean;
}

const HOUR_MS = 3_600_000;
// More than the client's allowance for a wall clock: no wrong `Date` agrees with the wall clock.
const NEAR_MS = 2_500;

/**
 * Gives some answers to one client a wrong `Date`, as the assumption allows: the answers before and after are right, in
 * the order of their arrival, and the wall clock does not agree with a wrong `Date`.
 */
export function wrongDates(table: TablePort, wrong: WrongDates): TablePort {
  const { random, clock } = wrong;
  let wasWrong = false;
  let isFirst = true;
  const altered = (dateMs: number, sentWallMs: number): number => {
    const mustBeRight = wasWrong || (isFirst && !wrong.isWallRight());
    isFirst = false;
    wasWrong = false;
    if (mustBeRight || !random.chance(wrong.part())) return dateMs;
    // Small errors are the hardest to notice.
    const mostS = random.chance(0.5) ? 20 : HOUR_MS / 1_000;
    const offMs =
      1_000 * random.integer(3, mostS) * (wrong.mayBeBehind() && random.chance(0.5) ? -1 : 1);
    const wrongMs = dateMs + offMs;
    const isNear = wrongMs <= clock.wallMs() + NEAR_MS && wrongMs + NEAR_MS >= sentWallMs;
    if (isNear) return dateMs;
    wasWrong = true;
    return wrongMs;
  };
  const dated = async <A extends Dated>(answering: Promise<A>): Promise<A> => {
    const sentWallMs = clock.wallMs();
    const answer = await answering;
    if (answer.dateMs === undefined) return answer;
    return { ...answer, dateMs: altered(answer.dateMs, sentWallMs) };
  };
  const transact = table.transact?.bind(table);
  return {
    ...(table.tellsDate === undefined ? {} : { tellsDate: table.tellsDate }),
    get clockCorrectionMs() {
      return table.clockCorrectionMs;
    },
    ...(transact && { transact: (all, call: Call) => dated(transact(all, call)) }),
    write: (write, call) => dated(table.write(write, call)),
    read: (read, call) => dated(table.read(read, call)),
    scan: (scan, call) => dated(table.scan(scan, call)),
    query: (query, call) => dated(table.query(query, call)),
  };
}
