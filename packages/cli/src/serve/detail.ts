import type { History, Inspection, QueuedWaiter } from "holdfast/admin";
import { systemClock } from "holdfast/internal";
import { scheduleState } from "holdfast/schedule";
import { grantsBetween } from "../output/grants.js";
import { actionsOf, actionsOfPermit } from "./actions.js";
import { keyOf } from "./view.js";
import type { Detail, Event, Permit, Row, SessionRow, Waiter } from "./view-types.js";
import { wordsOf, wordsOfSchedule } from "./words.js";

/** From the readings of one record to what the page shows. Pure. */

/** The readings of one record. */
export interface DetailReading {
  readonly row: Row;
  readonly data?: Inspection["data"];
  readonly permits: readonly Permit[];
  readonly waiters: readonly QueuedWaiter[];
  readonly history: History | undefined;
  /** The session of the record, if a reading of the table showed it. */
  readonly onSession: Pick<SessionRow, "records" | "holds"> | undefined;
  /** The options of each command that say which table. */
  readonly place: readonly string[];
}

/** Describes one record. */
export function detailOf(reading: DetailReading): Detail {
  const { row, data, permits, waiters, history, onSession, place } = reading;
  const besides = onSession?.records.filter((record) => keyOf(record) !== keyOf(row)) ?? [];
  return {
    row,
    words: wordsWith(row, data),
    data: data === undefined ? undefined : JSON.stringify(data, null, 2),
    permits: permits.map((one) => ({ ...one, actions: actionsOfPermit(row, one, place) })),
    waiters: waiters.map(waiterOf),
    events: history === undefined ? [] : eventsOf(history),
    actions: actionsOf(row, place),
    besides,
    besidesCount: besides.length + (onSession === undefined ? 0 : unlisted(onSession)),
  };
}

function wordsWith(row: Row, data: Inspection["data"]): string {
  const state = row.kind === "once" ? scheduleState(data) : undefined;
  const words = wordsOf(row);
  if (state === undefined) return words;
  return `${words} ${wordsOfSchedule(state, systemClock.wallMs(), row.state === "held")}`;
}

function unlisted({ records, holds }: Pick<SessionRow, "records" | "holds">): number {
  return holds - records.length;
}

function waiterOf(waiter: QueuedWaiter): Waiter {
  const { position, calls, ticket, owner, since, appearsExpired } = waiter;
  return { position, calls, ticket: ticket.toString(), owner, since, appearsExpired };
}

/** Orders grants, forced releases and gaps between fences, newest first. */
export function eventsOf({ grants, forced }: History): Event[] {
  const shown = new Set<unknown>();
  const events: Event[] = [];
  const addForced = (one: History["forced"][number]): void => {
    shown.add(one);
    events.push({ what: "forced", by: one.by, reason: one.reason, at: one.at });
  };
  grants.forEach(({ fence, owner, holder, at, how }, index) => {
    for (const one of forced) if (one.holder === holder) addForced(one);
    events.push({ what: "grant", fence: fence.toString(), owner, holder, at, how });
    const missing = grantsBetween(fence, grants[index + 1]?.fence);
    if (missing > 0n) events.push({ what: "gap", missing: missing.toString() });
  });
  for (const one of forced) if (!shown.has(one)) addForced(one);
  return events;
}
