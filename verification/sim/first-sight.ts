import type { Checker } from "./checker.js";
import type { Violation } from "./history.js";

/** The record of a held lock without a session. */
interface Standing {
  readonly sinceMs: number;
  readonly leaseMs: number;
}

/**
 * At first sight: a process that tries once is not refused if the holder, and the waiters in the queue, which it must not
 * pass, have been silent for the lease and the time in the terms.
 */
export const atFirstSight: Checker = (history, { firstSightMs }) => {
  if (firstSightMs === undefined) return [];
  const found: Violation[] = [];
  const records = new Map<string, Standing | undefined>();
  /** When the waiters last wrote their places, by name and ticket. */
  const places = new Map<string, Map<bigint, number>>();
  for (const event of history) {
    if (event.kind === "record") {
      const { atMs: sinceMs, holder, session, endInMs, leaseMs } = event;
      const isTold = holder !== undefined && session === undefined && endInMs !== undefined;
      records.set(event.name, isTold && leaseMs !== undefined ? { sinceMs, leaseMs } : undefined);
      continue;
    }
    if (event.kind === "place") {
      const known = places.get(event.name) ?? new Map<bigint, number>();
      places.set(event.name, known);
      if (event.holder === undefined) known.delete(event.ticket);
      else known.set(event.ticket, event.atMs);
      continue;
    }
    if (event.kind !== "gave up" || event.waited || event.code !== "contended") continue;
    const was = records.get(event.name);
    if (was === undefined) continue;
    const heardMs = Math.max(was.sinceMs, ...(places.get(event.name)?.values() ?? []));
    const silentMs = event.atMs - heardMs;
    if (silentMs <= was.leaseMs + firstSightMs) continue;
    const what = `${event.by} was refused "${event.name}" after ${silentMs.toFixed(0)} ms of silence`;
    found.push({ invariant: "at first sight", atMs: event.atMs, what });
  }
  return found;
};
