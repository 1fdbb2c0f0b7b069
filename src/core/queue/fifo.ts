import { HoldfastError } from "../../errors.js";
import type { Cancellation, Cancelling } from "../acquire/cancellation.js";
import type { AcquireContext } from "../acquire/context.js";
import { AcquireLoop } from "../acquire/loop.js";
import type { AcquireSettings, Granted, Queueing } from "../acquire/settings.js";
import { emitPlaceExpired } from "../events.js";
import type { HoldQueue } from "../hold/hold.js";
import { Pacer } from "../pacer.js";
import type { RecordRef } from "../record/format.js";
import { Entry } from "./entry.js";
import type { QueueOptions } from "./options.js";
import { clearedOf, readQueue } from "./predecessors.js";
import { LAST_TICKET, takeTicket } from "./ticket.js";
import { Waiting } from "./wait-turn.js";

/** Queueing for an acquisition. */
export function queueing(joins: Queueing["joins"], options: QueueOptions = {}): Queueing {
  return {
    joins,
    acquire: (context, ref, localQueue, settings, cancellation) =>
      settings.waitMs === 0
        ? tryInOrder(context, ref, localQueue, settings, cancellation)
        : acquireInOrder({ context, ref, localQueue, settings, cancellation, joins, options }),
  };
}

/** One acquisition that queues. */
export interface InOrder {
  readonly context: AcquireContext;
  readonly ref: RecordRef;
  readonly localQueue: HoldQueue;
  readonly settings: AcquireSettings;
  readonly cancellation: Cancellation;
  readonly joins: Queueing["joins"];
  readonly options: QueueOptions;
}

async function acquireInOrder(inOrder: InOrder): Promise<Granted | undefined> {
  const { context, ref, localQueue, settings, cancellation, options } = inOrder;
  const pacer = new Pacer(context, settings);
  for (; ; await pacer.beforeNextRound(cancellation.signal)) {
    const ticket = await takeTicket(context, ref, settings, cancellation);
    if (ticket === undefined) {
      // There is no record to queue before: whoever finds that claims it.
      const outcome = await new AcquireLoop(context, ref, localQueue, settings, cancellation).run();
      if (typeof outcome === "object") return outcome;
      if (outcome === "not to be had") return undefined;
      continue;
    }
    const outcome = await waitWith(inOrder, ticket);
    if (typeof outcome === "object") return outcome;
    if (outcome === "overslept" && options.onPlaceExpired === "fail") throw overslept(ref.name);
  }
}

/** Waits with one ticket. Whatever way it ends, its entry does not stay. */
async function waitWith(
  inOrder: InOrder,
  ticket: bigint,
): Promise<Granted | "overslept" | "again"> {
  const { context, ref, settings, cancellation } = inOrder;
  const place = context.format.queue?.entryOf(ref, ticket) ?? ref;
  const entry = await Entry.put(context, place, ticket, settings, cancellation);
  if (entry === undefined) return "again";
  try {
    return await contendInTurn(inOrder, entry);
  } catch (error) {
    if (!Entry.isOver(error)) throw error;
    emitPlaceExpired(ref, settings.owner, ticket);
    return "overslept";
  } finally {
    entry.leave(context);
  }
}

async function contendInTurn(
  { context, ref, localQueue, settings, joins, options }: InOrder,
  entry: Entry,
): Promise<Granted | "again"> {
  const waiting = new Waiting({ context, ref, settings, options }, entry);
  const own = withTicket(settings, entry.ticket, joins);
  const pacer = new Pacer(context, settings);
  for (; ; await pacer.beforeNextRound(entry.signal)) {
    await waiting.untilFirst();
    const place = { isFirst: () => waiting.isFirst() };
    const outcome = await new AcquireLoop(context, ref, localQueue, own, entry, place).run();
    if (typeof outcome === "object") return outcome;
    // Passed over; or the record is gone, which the next ticket finds out.
    if (outcome !== "not first") return "again";
  }
}

/** How whoever has a ticket contends. */
export function withTicket(
  settings: AcquireSettings,
  ticket: bigint,
  joins: Queueing["joins"] = "at once",
): AcquireSettings {
  return {
    ...settings,
    // In a fair lock the next in line looks as often at any time.
    maxPollMs: joins === "at once" ? settings.minPollMs : settings.maxPollMs,
    queueing: undefined,
    passage: { kind: "ticket", ticket },
  };
}

/**
 * Acquires without waiting what could be had if there were no queue, where everybody in it is dead or
 * gone. Without it a queue that was left by its last waiter would stay for ever, for whoever only tries.
 */
async function tryInOrder(
  context: AcquireContext,
  ref: RecordRef,
  localQueue: HoldQueue,
  settings: AcquireSettings,
  cancellation: Cancellation,
): Promise<Granted | undefined> {
  const isFirst = (upTo: bigint): Promise<boolean> =>
    isClear(context, ref, upTo, settings.owner, cancellation);
  // No ticket is taken where it would be of no use: each leaves a number behind.
  if (!(await isFirst(LAST_TICKET))) return undefined;
  const ticket = await takeTicket(context, ref, settings, cancellation);
  if (ticket === undefined) return undefined;
  const own = { ...settings, queueing: undefined, passage: { kind: "ticket", ticket } as const };
  const place = { isFirst: () => isFirst(ticket - 1n) };
  const outcome = await new AcquireLoop(context, ref, localQueue, own, cancellation, place).run();
  return typeof outcome === "object" ? outcome : undefined;
}

/** Whether nobody who lives has a ticket up to this one. Rejects where the table told nothing. */
export async function isClear(
  context: AcquireContext,
  ref: RecordRef,
  upTo: bigint,
  owner: string,
  cancellation: Cancelling,
): Promise<boolean> {
  const look = { strength: "strong", isWhole: true } as const;
  const reading = await readQueue(context, ref, upTo, look, cancellation);
  if (reading === undefined) throw cancellation.error();
  return (await clearedOf(context, ref, reading.entries, owner, cancellation)) === 0;
}

/** The error for a waiter that lost its place, and asked not to join again. */
export function overslept(name: string): HoldfastError {
  return new HoldfastError(
    "not-acquired",
    `Lock "${name}" was not acquired: this waiter could not keep its place in the queue, and ` +
      '`onPlaceExpired` is "fail". Acquire again to join at the back.',
    { lockName: name },
  );
}
