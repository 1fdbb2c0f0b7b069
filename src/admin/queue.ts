import { watchMs } from "../core/record/decide.js";
import type { RecordRef } from "../core/record/format.js";
import { type Inspection, inspect } from "../locks/inspect.js";
import type { Kernel } from "../core/context.js";
import { troubleError } from "../core/unavailable.js";
import type { Item } from "../platform/table.js";
import { LAST_TICKET } from "../core/queue/ticket.js";

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
  readonly looksDead: boolean;
}

/** A lock and its queue, as one reading of each showed them. */
export interface QueueListing {
  readonly lock: Inspection;
  /** In order. */
  readonly waiters: readonly QueuedWaiter[];
}

/** Lists who holds a lock and who waits for it, by strongly consistent readings. Throws coded errors. */
export async function listQueue(kernel: Kernel, ref: RecordRef): Promise<QueueListing> {
  const lock = await inspect(kernel, ref);
  const record = kernel.observations.of(ref.id)?.record;
  const served =
    record === undefined || record.state === "absent" ? undefined : record.queue.served;
  const waiters: QueuedWaiter[] = [];
  for (const item of await entriesOf(kernel, ref)) {
    const ticket = kernel.format.queue?.ticketIn(item);
    // What was granted, and not yet deleted, waits for nothing.
    if (ticket === undefined || (served !== undefined && ticket <= served)) continue;
    const waiter = waiterIn(kernel, ref, ticket, item, waiters.length);
    if (waiter !== undefined) waiters.push(waiter);
  }
  return { lock, waiters };
}

async function entriesOf(kernel: Kernel, ref: RecordRef): Promise<Item[]> {
  const { queue } = kernel.format;
  if (queue === undefined) return [];
  const items: Item[] = [];
  let after: Item | undefined;
  do {
    const query = { ...queue.upTo(ref, LAST_TICKET), consistent: true, after };
    const answer = await kernel.query(query, kernel.settings.requestTimeoutMs);
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind !== "page")
      throw troubleError(ref.name, "was not listed with its queue", answer);
    items.push(...answer.items);
    after = answer.next;
  } while (after !== undefined);
  return items;
}

function waiterIn(
  kernel: Kernel,
  ref: RecordRef,
  ticket: bigint,
  item: Item,
  position: number,
): QueuedWaiter | undefined {
  const entry = kernel.format.queue?.entryOf(ref, ticket) ?? ref;
  const record = kernel.seeRecord(entry, item, "strong");
  if (record.state !== "held") return undefined;
  const { owner, acquiredAt, session, leaseMs } = record;
  const { sinceMs } = kernel.observations.of(entry.id) ?? { sinceMs: kernel.nowMs() };
  const silentMs = kernel.nowMs() - sinceMs;
  return {
    ...{ position, ticket, owner, since: acquiredAt, session, leaseMs },
    // One that lives by a session says nothing itself.
    looksDead: session === undefined && silentMs >= watchMs(leaseMs, kernel.settings.driftBound),
  };
}
