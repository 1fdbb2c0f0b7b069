import type { AcquireContext } from "../core/acquire/context.js";
import type { Shown } from "../core/context.js";
import { waitersOf } from "../core/queue/predecessors.js";
import { LAST_TICKET } from "../core/queue/ticket.js";
import { deadAtMs } from "../core/record/decide.js";
import type { RecordRef } from "../core/record/format.js";
import { unavailableError } from "../core/unavailable.js";
import { serialisable } from "../internal/printed.js";
import type { Inspection } from "../locks/inspect.js";
import type { PermitInspection } from "../locks/inspect-permits.js";
import { unlessMisconfigured } from "../platform/retry.js";
import type { Item } from "../platform/table.js";

/** A waiter for a lock. */
export interface QueuedWaiter {
  /** How many waiters come before this waiter. */
  readonly position: number;
  /** How many calls of the process wait with this place. */
  readonly calls: number;
  /** The ticket of the place, and the last one if several calls share the place. */
  readonly ticket: bigint;
  /** The label for people. */
  readonly owner: string | undefined;
  /** When the waiter joined the queue, ISO, by the waiter's clock. */
  readonly since: string | undefined;
  /** The session that keeps the place alive; undefined while the waiter renews the place itself. */
  readonly session: string | undefined;
  /** How long the waiter may go without renewing, in milliseconds. */
  readonly leaseMs: number;
  /** Whether this client has observed the waiter silent for longer than its lease. */
  readonly appearsExpired: boolean;
}

/** A lock and its queue, each as read once. */
export interface QueueListing<I = Inspection> {
  readonly lock: I;
  /** In the order of the queue. */
  readonly waiters: readonly QueuedWaiter[];
}

/** A semaphore or a read-write lock and its queue, each as read once. */
export type PermitQueueListing = QueueListing<PermitInspection>;

/** Lists the holders and the waiters, by strongly consistent reads. Throws coded errors. */
export async function queueOf<I>(
  context: AcquireContext,
  ref: RecordRef,
  inspect: (context: AcquireContext, ref: RecordRef) => Promise<I>,
): Promise<QueueListing<I>> {
  const lock = await inspect(context, ref);
  return { lock, waiters: await waitersBefore(context, ref) };
}

async function waitersBefore(context: AcquireContext, ref: RecordRef): Promise<QueuedWaiter[]> {
  const served = context.observations.known(ref.id)?.queue.served;
  const waiters: QueuedWaiter[] = [];
  let position = 0;
  for (const shown of await entriesOf(context, ref)) {
    const ticket = context.format.queue?.ticketIn(shown.item);
    // An entry that was granted, and not yet deleted, no longer waits.
    if (ticket === undefined || (served !== undefined && ticket <= served)) continue;
    const waiter = waiterIn(context, ref, ticket, shown, served);
    if (waiter === undefined) continue;
    waiters.push(serialisable({ position, ...waiter }));
    position += waiter.calls;
  }
  return waiters;
}

interface ShownEntry extends Shown {
  readonly item: Item;
}

async function entriesOf(context: AcquireContext, ref: RecordRef): Promise<ShownEntry[]> {
  const { queue } = context.format;
  if (queue === undefined) return [];
  const entries: ShownEntry[] = [];
  let after: Item | undefined;
  do {
    const query = { ...queue.upTo(ref, LAST_TICKET), consistent: true, after };
    const answer = unlessMisconfigured(await context.query(query));
    if (answer.kind !== "page")
      throw unavailableError(ref.name, "was not read", answer, `The queue of lock "${ref.name}"`);
    const { dateMs } = answer;
    entries.push(...answer.items.map((item) => ({ item, dateMs })));
    after = answer.next;
  } while (after !== undefined);
  return entries;
}

function waiterIn(
  context: AcquireContext,
  ref: RecordRef,
  ticket: bigint,
  shown: ShownEntry,
  served: bigint | undefined,
): Omit<QueuedWaiter, "position"> | undefined {
  const entry = context.format.queue?.entryOf(ref, ticket) ?? ref;
  const record = context.seeRecord(entry, shown, "strong");
  if (record.state !== "held") return undefined;
  const { owner, acquiredAt, session, leaseMs } = record;
  const seen = context.observations.of(entry.id);
  const calls = waitersOf(record, ticket, served);
  return {
    ...{ calls, ticket, owner, since: acquiredAt, session, leaseMs },
    // On a session the entry is not renewed, so silence of the entry means nothing.
    appearsExpired:
      session === undefined &&
      seen !== undefined &&
      context.nowMs() >= deadAtMs(seen, leaseMs, context.times()),
  };
}
