import { Abort } from "../../platform/abort.js";
import { AGAIN, type Again, isNoAnswer, retry } from "../../platform/retry.js";
import {
  type Item,
  isJudged,
  type Query,
  type ReadAnswer,
  type WriteAnswer,
} from "../../platform/table.js";
import type { Cancelling } from "../acquire/cancellation.js";
import type { AcquireContext } from "../acquire/context.js";
import type { AcquireSettings } from "../acquire/settings.js";
import { unlessUnserved } from "../acquire/until-answered.js";
import { steady } from "../backoff.js";
import { removeEntry } from "../hold/release.js";
import type { RecordRef, Watched } from "../record/format.js";
import type { LeaseRecord } from "../record/record.js";

/** An entry of a queue, from a read. */
interface QueueEntry {
  readonly ref: RecordRef;
  /** The last ticket of the place. */
  readonly ticket: bigint;
  readonly record: LeaseRecord;
}

/** The entries before a ticket, from a single read. */
export interface Reading {
  /** Nearest first. */
  readonly entries: readonly QueueEntry[];
  /** Whether the read reached the front of the queue. */
  readonly isWhole: boolean;
}

/** How to read the queue. */
export interface Look {
  readonly strength: "strong" | "eventual";
  /** True: the read has all pages. False: it has the nearest {@link WINDOW} entries, and costs as much as one entry. */
  readonly isWhole: boolean;
}

/** The number of entries in a poll. It is constant, so a long queue costs no more than a short queue. */
export const WINDOW = 16;

// The maximum number of entries that a waiter removes after one read. It continues after the next read.
const MOST_REMOVED = 64;

/** Reads the entries of a queue up to a ticket. Resolves with undefined if DynamoDB did not answer. */
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
    const sent = await context.query({ ...query, after }, undefined, cancellation.signal);
    const answer = unlessUnserved({ context, cancellation }, sent);
    if (answer === undefined) return undefined;
    for (const item of answer.items) {
      const ticket = queue.ticketIn(item);
      if (ticket === undefined) continue;
      const entry = queue.entryOf(ref, ticket);
      const shown = { item, dateMs: answer.dateMs };
      entries.push({ ref: entry, ticket, record: context.seeRecord(entry, shown, strength) });
    }
    after = answer.next;
  } while (after !== undefined && (isWhole || entries.length === 0));
  return { entries, isWhole: after === undefined };
}

/**
 * Removes unused entries before this waiter, and counts the waiters that remain. Starts with the nearest entry. Removes
 * the entries of dead waiters, and of tickets that the queue has granted or skipped. Stops at the first live waiter:
 * that waiter removes the entries before its own.
 */
export async function clearedOf(
  context: AcquireContext,
  ref: RecordRef,
  entries: readonly QueueEntry[],
  owner: string,
  cancellation: Cancelling,
): Promise<number> {
  const served = context.observations.known(ref.id)?.queue.served;
  const isRubbish = ({ ticket }: QueueEntry): boolean => served !== undefined && ticket <= served;
  let cleared = 0;
  while (cleared < Math.min(entries.length, MOST_REMOVED) && !cancellation.isStopped) {
    const entry = entries[cleared];
    if (entry === undefined) break;
    const { ref: place, record } = entry;
    if (record.state === "held") {
      // Nobody waits with a granted ticket, so the state that was read needs no watch.
      const known = isRubbish(entry) ? record : await deadIn(context, place, owner, cancellation);
      if (known === undefined || !(await isRemoved(context, place, known))) break;
    }
    cleared += 1;
  }
  // The count includes remaining entries of dead waiters, but not granted tickets.
  return entries
    .slice(cleared)
    .filter((entry) => !isRubbish(entry))
    .reduce((sum, { record, ticket }) => sum + waitersOf(record, ticket, served), 0);
}

/** Returns how many waiters still share an entry: several waiters of one process can share one place. */
export function waitersOf(record: LeaseRecord, ticket: bigint, served: bigint | undefined): number {
  const data = record.state === "held" ? record.data : undefined;
  const shared = typeof data === "number" && data > 1 ? Math.floor(data) : 1;
  const left = served === undefined ? shared : Number(ticket - served);
  return Math.max(1, Math.min(shared, left));
}

/** The lease of an entry; infinite for a waiter for several locks, which leaves this one free while another is held. */
export function patienceMs(record: LeaseRecord): number {
  if (record.state !== "held") return 0;
  return record.data === 0 ? Number.POSITIVE_INFINITY : record.leaseMs;
}

// The acquisition has ended, so nothing cancels its last read.
const uncancelled = (): Cancelling => ({
  signal: new Abort(),
  isStopped: false,
  waits: false,
  onWait: () => undefined,
  onResponse: () => undefined,
  onNoResponse: () => undefined,
  error: () => undefined,
});

/**
 * Removes the entries before a granted ticket: their waiters could not delete them. Tries for a lease at most,
 * because the next waiters of the queue can remove these entries, too.
 */
export async function removeGranted(
  context: AcquireContext,
  ref: RecordRef,
  ticket: bigint,
  { owner, leaseMs, retryMs }: AcquireSettings,
): Promise<void> {
  const look: Look = { strength: "strong", isWhole: true };
  const cancellation = uncancelled();
  const fromMs = context.nowMs();
  const read = async (): Promise<Answered | Again> => {
    const reading = await readQueue(context, ref, ticket - 1n, look, cancellation);
    return reading === undefined ? AGAIN : { kind: "read", reading };
  };
  const retried = await retry(context, read, {
    backoff: steady(retryMs),
    isOver: () => context.nowMs() - fromMs >= leaseMs,
    keepsAlive: false,
  });
  if (retried.kind !== "answered") return;
  const { entries } = retried.answer.reading;
  for (let from = 0; from < entries.length; from += MOST_REMOVED) {
    const some = entries.slice(from, from + MOST_REMOVED);
    await clearedOf(context, ref, some, owner, cancellation);
  }
}

interface Answered {
  readonly kind: "read";
  readonly reading: Reading;
}

/**
 * Returns the watched state of an entry, if its waiter counts as dead; undefined if the waiter may be alive. An eventual
 * read may be older than what this client has watched: then the state that it shows was never watched (R4).
 */
async function deadIn(
  context: AcquireContext,
  ref: RecordRef,
  owner: string,
  cancellation: Cancelling,
): Promise<Watched | undefined> {
  for (;;) {
    const decision = context.decide(ref, false);
    // The waiter is dead, or this process abandoned the holder id.
    if (decision.kind === "take-over") return decision;
    if (decision.kind !== "look-at-session" && decision.kind !== "end-session") return undefined;
    const answer = await context.sessions.follow(decision, owner, cancellation.signal);
    noteUnanswered(context, answer, cancellation);
    if (answer.kind !== "found" && !isJudged(answer)) return undefined;
  }
}

async function isRemoved(
  context: AcquireContext,
  entry: RecordRef,
  watched: Watched,
): Promise<boolean> {
  const answer = await removeEntry(context, entry, { watched });
  return answer.kind === "applied" || (answer.kind === "refused" && answer.item === undefined);
}

/**
 * Polls the sessions of the entries: the nearest session at every poll, and the others only when the nearest session
 * is no longer renewed. So the client watches all dead sessions at the same time, and not one after the other.
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
    const seen = await context.sessions.poll(session, freshMs, cancellation.signal);
    if (seen !== undefined) noteUnanswered(context, seen, cancellation);
  }
}

/** Tells a call that waits of a request about a session without a result: an outage may begin with this request. */
function noteUnanswered(
  context: AcquireContext,
  answer: ReadAnswer | WriteAnswer,
  cancellation: Cancelling,
): void {
  if (!cancellation.waits) return;
  const seen = context.unlessLasting(answer, true);
  if (isNoAnswer(seen)) cancellation.onNoResponse(seen);
}

function sessionIn(record: LeaseRecord): string | undefined {
  return record.state === "held" ? record.session : undefined;
}
