import type { AcquireContext } from "../core/acquire/context.js";
import { LAST_TICKET } from "../core/queue/ticket.js";
import { watchMs } from "../core/record/decide.js";
import type { RecordRef } from "../core/record/format.js";
import { unavailableError } from "../core/unavailable.js";
import { type Inspection, inspect } from "../locks/inspect.js";
import type { Item } from "../platform/table.js";

/** Who waits for a lock. */
export interface QueuedWaiter {
  /** How many are before it. */
  readonly position: number;
  readonly ticket: bigint;
  /** The label for people. */
  readonly owner: string | undefined;
  /** When it joined the queue, ISO, by its own clock. */
  readonly since: string | undefined;
  /** The session that it lives by; undefined while it renews its place itself. */
  readonly session: string | undefined;
  /** For how long it may be silent, in milliseconds. */
  readonly leaseMs: number;
  /** Whether this client has watched it be silent for longer than that. */
  readonly appearsExpired: boolean;
}

/** A lock and its queue, as one reading of each showed them. */
export interface QueueListing {
  readonly lock: Inspection;
  /** In order. */
  readonly waiters: readonly QueuedWaiter[];
}

/** Lists who holds a lock and who waits for it, by strongly consistent readings. Throws coded errors. */
export async function listQueue(context: AcquireContext, ref: RecordRef): Promise<QueueListing> {
  const lock = await inspect(context, ref);
  const record = context.observations.of(ref.id)?.record;
  const served =
    record === undefined || record.state === "absent" ? undefined : record.queue.served;
  const waiters: QueuedWaiter[] = [];
  for (const item of await entriesOf(context, ref)) {
    const ticket = context.format.queue?.ticketIn(item);
    // What was granted, and not yet deleted, waits for nothing.
    if (ticket === undefined || (served !== undefined && ticket <= served)) continue;
    const waiter = waiterIn(context, ref, ticket, item, waiters.length);
    if (waiter !== undefined) waiters.push(waiter);
  }
  return { lock, waiters };
}

async function entriesOf(context: AcquireContext, ref: RecordRef): Promise<Item[]> {
  const { queue } = context.format;
  if (queue === undefined) return [];
  const items: Item[] = [];
  let after: Item | undefined;
  do {
    const query = { ...queue.upTo(ref, LAST_TICKET), consistent: true, after };
    const answer = await context.query(query, context.settings.requestTimeoutMs);
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind !== "page")
      throw unavailableError(ref.name, "was not listed with its queue", answer);
    items.push(...answer.items);
    after = answer.next;
  } while (after !== undefined);
  return items;
}

function waiterIn(
  context: AcquireContext,
  ref: RecordRef,
  ticket: bigint,
  item: Item,
  position: number,
): QueuedWaiter | undefined {
  const entry = context.format.queue?.entryOf(ref, ticket) ?? ref;
  const record = context.seeRecord(entry, item, "strong");
  if (record.state !== "held") return undefined;
  const { owner, acquiredAt, session, leaseMs } = record;
  const { sinceMs } = context.observations.of(entry.id) ?? { sinceMs: context.nowMs() };
  const silentMs = context.nowMs() - sinceMs;
  return {
    ...{ position, ticket, owner, since: acquiredAt, session, leaseMs },
    // One that lives by a session says nothing itself.
    appearsExpired:
      session === undefined && silentMs >= watchMs(leaseMs, context.settings.maxClockDrift),
  };
}
