import { HoldfastError } from "../../errors.js";
import type { Cancellation, Cancelling } from "../acquire/cancellation.js";
import { AcquireLoop, type Granted } from "../acquire/loop.js";
import type { Queueing } from "../acquire/queueing.js";
import type { ClientContext } from "../context.js";
import { emitPlaceExpired } from "../events.js";
import type { LocalQueue } from "../local-queue.js";
import type { AcquireSettings } from "../options.js";
import { Pacer } from "../pacer.js";
import type { RecordRef } from "../record/format.js";
import { Entry } from "./entry.js";
import { clearedOf, readQueue } from "./predecessors.js";
import { LAST_TICKET, takeTicket } from "./ticket.js";
import { Waiting } from "./wait-turn.js";

/** What a waiter may ask for besides the lock. */
export interface QueueOptions {
  /**
   * What becomes of a waiter that could not keep its place, because it slept for longer than its lease
   * or was cut off for as long: `"rejoin"`, the default, at the back; `"fail"` rejects with
   * `not-acquired`. It never comes back to its old place.
   */
  readonly onPlaceExpired?: "rejoin" | "fail" | undefined;
  /**
   * Called with how many waiters are before this one, 0 for the next in line, whenever a reading shows
   * another number. Exact for the first 16; further back it is counted once in a renewal's period. What
   * it throws ends the acquisition.
   */
  readonly onPosition?: ((position: number) => void) | undefined;
}

/** The defaults of whatever waits in order, each with its reason. */
export const FAIR_DEFAULTS = Object.freeze({
  /** A place in a queue is lost with its lease: it outlives what a mutex's waiter need not notice. */
  lease: "60s",
  poll: Object.freeze({
    /** Of the next in line; what a hand-over to another process takes, at most. */
    fastest: "500ms",
    /** Of those further back: twelve reads a minute. */
    slowest: "5s",
  }),
});

/** Throws `invalid-argument` for what is none of them. */
export function checkQueueOptions(options: QueueOptions): QueueOptions {
  const { onPlaceExpired, onPosition } = options;
  if (onPlaceExpired !== undefined && !["rejoin", "fail"].includes(onPlaceExpired)) {
    throw new HoldfastError(
      "invalid-argument",
      `The option \`onPlaceExpired\` must be "rejoin" or "fail"; it is "${onPlaceExpired}".`,
    );
  }
  if (onPosition !== undefined && typeof onPosition !== "function") {
    throw new HoldfastError("invalid-argument", "The option `onPosition` must be a function.");
  }
  return options;
}

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
  readonly context: ClientContext;
  readonly ref: RecordRef;
  readonly localQueue: LocalQueue;
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
  context: ClientContext,
  ref: RecordRef,
  localQueue: LocalQueue,
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
  context: ClientContext,
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
