import { lateMs, type ScheduleState } from "holdfast/schedule";
import { lengthText } from "./length-text.js";
import type { PermitCount, Row } from "./view-types.js";

/** The state of a record in words. Pure. */

/** The state of a record in words. */
export function wordsOf(row: Row): string {
  if (row.permits !== undefined) return wordsOfPermits(row, row.permits);
  const holder = row.owner ?? row.holder ?? "an unnamed holder";
  const verb = row.kind === "leader" ? "Led" : "Held";
  if (row.state === "free") {
    return row.owner === undefined ? "Free." : `Free. The last holder was ${row.owner}.`;
  }
  const since = row.heldForMs === undefined ? "" : ` for ${lengthText(row.heldForMs)}`;
  const by = row.session === undefined ? "last renewed" : "its session was last renewed";
  const sign = row.silentMs === undefined ? "" : `; ${by} ${lengthText(row.silentMs)} ago`;
  return `${verb} by ${holder}${since}${askedText(row)}${sign}; ${takeoverText(row, "it")}.`;
}

/** What the record of a schedule, or of a task of `once()`, remembers, in words. Pure. */
export function wordsOfSchedule(state: ScheduleState, nowMs: number, isLive: boolean): string {
  const { rule, due, outcome, isOpen, attempt, next, retryAt, lastSuccess, lastFailure } = state;
  const late = lateMs(state, nowMs, isLive);
  const run = `${due.toISOString()}${attempt > 1 ? `, attempt ${attempt}` : ""}`;
  const ended = isOpen ? (isLive ? "has not ended" : "was cut off") : (outcome ?? "ended");
  return [
    rule && `Due ${rule}.`,
    attempt > 0 && `The run for ${run}: ${ended}.`,
    late > 0 && `Late by ${lengthText(late)}.`,
    retryAt && `It is run again at ${retryAt.toISOString()}.`,
    next && `Next due ${next.toISOString()}.`,
    lastSuccess && `Last success: ${lastSuccess.due.toISOString()}.`,
    lastFailure && `Last failure: ${lastFailure.due.toISOString()}, ${lastFailure.error}.`,
  ]
    .filter(Boolean)
    .join(" ");
}

function askedText({ request }: Row): string {
  return request === undefined ? "" : `; ${request}`;
}

function takeoverText({ acquirableInMs }: Row, what: string): string {
  return acquirableInMs === 0
    ? `a waiter can take ${what} over now`
    : `${what} can be taken over in ${lengthText(acquirableInMs)} if the holder stays silent`;
}

function wordsOfPermits(row: Row, { used, limit, holders }: PermitCount): string {
  if (holders === 0) {
    const isLimited = row.kind === "semaphore" && limit !== undefined;
    return isLimited ? `Free. The limit is ${limit}.` : "Free.";
  }
  const isOne = holders === 1;
  const what =
    row.kind === "semaphore"
      ? `${used} of ${limit} in use, by ${isOne ? "1 permit" : `${holders} permits`}`
      : used === limit
        ? "Held by a writer"
        : `Held by ${isOne ? "1 reader" : `${holders} readers`}`;
  const of = isOne ? "its session" : "the session silent for longest";
  const sign = `${of} was last renewed ${lengthText(row.silentMs ?? 0)} ago`;
  return `${what}: ${row.owner}${askedText(row)}; ${sign}; ${takeoverText(row, isOne ? "it" : "that permit")}.`;
}
