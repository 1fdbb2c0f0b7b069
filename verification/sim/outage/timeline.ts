/** How long the table is away, and how it returns. */
export interface Timeline {
  /** No process reaches the table for so long. */
  readonly awayMs: number;
  /** Then each process reaches the table again at a random time within this period. */
  readonly returnMs: number;
}

const MINUTE_MS = 60_000;

/**
 * The outage of DynamoDB in us-east-1 of 2025-10-19, Pacific time, by AWS's summary (https://aws.amazon.com/message/101925/): from
 * 11:48 PM to 2:25 AM the endpoint's name had no address; until 2:40 AM clients reached the table again as their cached
 * DNS records expired. The summary says that clients could make no new connections. The drill assumes more: that all
 * open connections end at once.
 */
export const OCTOBER_2025: Timeline = { awayMs: 157 * MINUTE_MS, returnMs: 15 * MINUTE_MS };

/** How processes start, and for how long the drill measures their steady load, before the table goes away. */
export const START_MS = 30_000;
const SETTLE_MS = 30_000;
export const STEADY_MS = 60_000;
/** When the table goes away, from the start of the drill. */
export const AWAY_AT_MS = START_MS + SETTLE_MS + STEADY_MS;
/** How long the drill goes on after the last process reaches the table again. */
const AFTER_MS = 60_000;

/** When the first process can reach the table again, from the start of the drill. */
export function backAtMs({ awayMs }: Timeline): number {
  return AWAY_AT_MS + awayMs;
}

/** When the drill ends, from its start. */
export function endAtMs(timeline: Timeline): number {
  return backAtMs(timeline) + timeline.returnMs + AFTER_MS;
}
