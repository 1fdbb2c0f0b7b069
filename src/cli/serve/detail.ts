import type { History, Inspection, QueuedWaiter } from "../../admin/index.js";
import type { Action, Detail, Event, Row, Waiter } from "./view-types.js";

/** From the readings of one record to what the page shows. Pure. */

/** The readings of one record. */
export interface DetailReading {
  readonly row: Row;
  readonly lock: Inspection;
  readonly waiters: readonly QueuedWaiter[];
  readonly history: History | undefined;
  /** The locks that the same session keeps alive, if it is known. */
  readonly ofSession: readonly string[];
  readonly table: string;
}

/** Describes one record. */
export function detailOf(reading: DetailReading): Detail {
  const { row, lock, waiters, history, ofSession, table } = reading;
  return {
    row,
    words: wordsOf(row),
    data: lock.data === undefined ? undefined : JSON.stringify(lock.data, null, 2),
    waiters: waiters.map(waiterOf),
    events: history === undefined ? [] : eventsOf(history),
    actions: actionsOf(row, table),
    besides: ofSession.filter((name) => name !== row.name),
  };
}

/** The state of a record in words. */
export function wordsOf(row: Row): string {
  const holder = row.owner ?? row.holder ?? "an unnamed holder";
  const verb = row.kind === "leader" ? "Led" : "Held";
  if (row.state === "free") {
    return row.owner === undefined ? "Free." : `Free. The last holder was ${row.owner}.`;
  }
  const since = row.heldForMs === undefined ? "" : ` for ${lengthText(row.heldForMs)}`;
  const by = row.session === undefined ? "last renewed" : "its session was last renewed";
  const sign = row.silentMs === undefined ? "" : `; ${by} ${lengthText(row.silentMs)} ago`;
  const then =
    row.acquirableInMs === 0
      ? "; a waiter can take it over now"
      : `; can be taken over in ${lengthText(row.acquirableInMs)} if the holder stays silent`;
  return `${verb} by ${holder}${since}${sign}${then}.`;
}

/** A length of time for people, in its largest unit. */
export function lengthText(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800
    ? `${Math.floor(seconds / 3_600)} h`
    : `${Math.floor(seconds / 86_400)} d`;
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
    const missing = fence - (grants[index + 1]?.fence ?? fence - 1n) - 1n;
    if (missing > 0n) events.push({ what: "gap", missing: missing.toString() });
  });
  for (const one of forced) if (!shown.has(one)) addForced(one);
  return events;
}

/** The commands for what can be done with a record. */
export function actionsOf(row: Row, table: string): Action[] {
  const { kind, name, namespace, state, holder } = row;
  const words = [
    `--table ${quoted(table)}`,
    ...(kind === "lock" ? [] : [`--kind ${kind}`]),
    ...(namespace === undefined ? [] : [`--namespace ${quoted(namespace)}`]),
  ].join(" ");
  const command = (verb: string, more = ""): string =>
    `holdfast ${verb} ${quoted(name)} ${words}${more}`;
  const isHeld = state !== "free" && kind !== "once";
  return [
    { what: "Inspect", command: command("inspect") },
    ...(kind === "once" ? [] : [{ what: "Show the history", command: command("history") }]),
    ...(kind === "lock" ? [{ what: "List the queue", command: command("queue") }] : []),
    ...(isHeld
      ? [
          {
            what: "Ask the holder to release",
            command: command("release", " --force --reason 'WHY'"),
          },
        ]
      : []),
    ...(isHeld && kind === "lock" && holder !== undefined
      ? [
          {
            what: "Free it, if its process has ended",
            command: command("release", ` --holder ${quoted(holder)}`),
          },
        ]
      : []),
  ];
}

/** Quotes a word for a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w./:@-]+$/.test(word) && !word.startsWith("-")
    ? word
    : `'${word.replaceAll("'", "'\\''")}'`;
}
