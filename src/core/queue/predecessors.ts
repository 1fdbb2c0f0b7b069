import type { Item, Query } from "../../platform/table.js";
import type { Cancelling } from "../acquire/cancellation.js";
import type { AcquireContext } from "../acquire/context.js";
import { removeEntry } from "../hold/release.js";
import type { RecordRef } from "../record/format.js";
import type { LeaseRecord } from "../record/record.js";

/** An entry that a reading showed. */
export interface QueueEntry {
  readonly ref: RecordRef;
  readonly ticket: bigint;
  readonly record: LeaseRecord;
}

/** One reading of the entries before a ticket. */
export interface Reading {
  /** From the nearest to the first. */
  readonly entries: readonly QueueEntry[];
  /** Whether there is none that was not read. */
  readonly isWhole: boolean;
}

/** How a reading is made. */
export interface Look {
  readonly strength: "strong" | "eventual";
  /** All pages; otherwise the nearest {@link WINDOW} entries, which cost no more than one item. */
  readonly isWhole: boolean;
}

/** So many entries are read at a glance: what a poll costs does not grow with the queue. */
export const WINDOW = 16;

// More in a row may be dead, or left behind; the next look takes the next ones.
const MOST_REMOVED = 64;

/** Reads the entries of a queue up to a ticket; undefined where the table told nothing. */
export async function readQueue(
  context: AcquireContext,
  ref: RecordRef,
  upTo: bigint,
  { strength, isWhole }: Look,
  cancellation: Cancelling,
): Promise<Reading | undefined> {
  const { queue } = context.format;
  if (queue === undefined || upTo < 0n) return { entries: [], isWhole: true };
  const entries: QueueEntry[] = [];
  const query: Query = {
    ...queue.upTo(ref, upTo),
    consistent: strength === "strong",
    isDescending: true,
    ...(isWhole ? {} : { mostItems: WINDOW }),
  };
  let after: Item | undefined;
  do {
    const answer = await context.query(
      { ...query, after },
      context.settings.requestTimeoutMs,
      cancellation.signal,
    );
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind !== "page") {
      cancellation.onNoResponse(answer);
      return undefined;
    }
    cancellation.onResponse();
    for (const item of answer.items) {
      const ticket = queue.ticketIn(item);
      if (ticket === undefined) continue;
      const entry = queue.entryOf(ref, ticket);
      entries.push({ ref: entry, ticket, record: context.seeRecord(entry, item, strength) });
    }
    after = answer.next;
  } while (after !== undefined && (isWhole || entries.length === 0));
  return { entries, isWhole: after === undefined };
}

/**
 * How many of these are in the way. Those that are not, from the nearest on, are removed: who was watched
 * dead, and what was left behind by a ticket that was granted, or passed over. Others are left to
 * whoever is behind them.
 */
export async function clearedOf(
  context: AcquireContext,
  ref: RecordRef,
  entries: readonly QueueEntry[],
  owner: string,
  cancellation: Cancelling,
): Promise<number> {
  const record = context.observations.of(ref.id)?.record;
  const served =
    record === undefined || record.state === "absent" ? undefined : record.queue.served;
  const isRubbish = ({ ticket }: QueueEntry): boolean => served !== undefined && ticket <= served;
  let cleared = 0;
  while (cleared < Math.min(entries.length, MOST_REMOVED) && !cancellation.isStopped) {
    const entry = entries[cleared];
    if (entry === undefined) break;
    if (!isRubbish(entry) && !(await isDead(context, entry, owner, cancellation))) break;
    if (!(await isRemoved(context, entry))) break;
    cleared += 1;
  }
  // What stands before a waiter counts, dead or not; what was granted does not.
  return entries.slice(cleared).filter((entry) => !isRubbish(entry)).length;
}

async function isDead(
  context: AcquireContext,
  { ref }: QueueEntry,
  owner: string,
  cancellation: Cancelling,
): Promise<boolean> {
  for (;;) {
    const decision = context.decide(ref, false);
    switch (decision.kind) {
      case "wait":
        return false;
      case "look at session": {
        const { requestTimeoutMs } = context.settings;
        const seen = await context.sessions.look(
          decision.session,
          requestTimeoutMs,
          cancellation.signal,
        );
        if (seen.kind !== "found") return false;
        break;
      }
      case "end session": {
        const ended = await context.sessions.end(decision, owner, cancellation.signal);
        if (ended.kind !== "applied" && ended.kind !== "refused") return false;
        break;
      }
      default:
        // Dead, or gone by now, or an id that this process gave up.
        return true;
    }
  }
}

async function isRemoved(context: AcquireContext, { ref, record }: QueueEntry): Promise<boolean> {
  if (record.state !== "held") return true;
  const { holder, version, session } = record;
  const watched = { holder, version, session };
  const answer = await removeEntry(context, ref, { known: undefined, maybe: [], watched });
  return answer.kind === "applied" || (answer.kind === "refused" && answer.item === undefined);
}

/**
 * Looks at the sessions by which entries live: the nearest one's at every poll, the others' only once
 * that stands still, so that any number of dead ones is watched at once.
 */
export async function pollSessions(
  context: AcquireContext,
  entries: readonly QueueEntry[],
  freshMs: number,
  stillMs: number,
  cancellation: Cancelling,
): Promise<void> {
  const sessions = [...new Set(entries.flatMap(({ record }) => sessionIn(record) ?? []))];
  const [nearest] = sessions;
  if (nearest === undefined) return;
  const sinceMs = context.sessions.of(nearest)?.sinceMs ?? Number.POSITIVE_INFINITY;
  const isStill = context.nowMs() - sinceMs > stillMs;
  for (const session of isStill ? sessions : [nearest]) {
    if (cancellation.isStopped) return;
    const { requestTimeoutMs } = context.settings;
    await context.sessions.poll(session, freshMs, requestTimeoutMs, cancellation.signal);
  }
}

function sessionIn(record: LeaseRecord): string | undefined {
  return record.state === "held" ? record.session : undefined;
}
