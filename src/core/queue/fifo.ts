import { HoldfastError } from "../../errors.js";
import { Contention, type Granted } from "../acquire/loop.js";
import { tellOverslept } from "../events.js";
import type { RecordRef } from "../record/format.js";
import type { Kernel } from "../context.js";
import type { Line } from "../local-queue.js";
import type { AcquireSettings } from "../options.js";
import { Pacer } from "../pacer.js";
import type { Queueing } from "../acquire/queueing.js";
import type { Stop, Stopping } from "../acquire/cancellation.js";
import { clearedOf, readQueue } from "./predecessors.js";
import { Entry } from "./entry.js";
import { LAST_TICKET, takeTicket } from "./ticket.js";
import { Waiting } from "./wait-turn.js";

/** What a waiter may ask for besides the lock. */
export interface QueueOptions {
  /**
   * What becomes of a waiter that could not keep its place, because it slept for longer than its lease
   * or was cut off for as long: `"rejoin"`, the default, at the back; `"fail"` rejects with
   * `not-acquired`. It never comes back to its old place.
   */
  readonly ifOverslept?: "rejoin" | "fail" | undefined;
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
  const { ifOverslept, onPosition } = options;
  if (ifOverslept !== undefined && !["rejoin", "fail"].includes(ifOverslept)) {
    throw new HoldfastError(
      "invalid-argument",
      `The option \`ifOverslept\` must be "rejoin" or "fail"; it is "${ifOverslept}".`,
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
    acquire: (kernel, ref, line, settings, stop) =>
      settings.waitMs === 0
        ? tryInOrder(kernel, ref, line, settings, stop)
        : acquireInOrder({ kernel, ref, line, settings, stop, joins, options }),
  };
}

/** One acquisition that queues. */
export interface InOrder {
  readonly kernel: Kernel;
  readonly ref: RecordRef;
  readonly line: Line;
  readonly settings: AcquireSettings;
  readonly stop: Stop;
  readonly joins: Queueing["joins"];
  readonly options: QueueOptions;
}

async function acquireInOrder(inOrder: InOrder): Promise<Granted | undefined> {
  const { kernel, ref, line, settings, stop, options } = inOrder;
  const pacer = new Pacer(kernel, settings);
  for (; ; await pacer.beforeNextRound(stop.signal)) {
    const ticket = await takeTicket(kernel, ref, settings, stop);
    if (ticket === undefined) {
      // There is no record to queue before: whoever finds that claims it.
      const outcome = await new Contention(kernel, ref, line, settings, stop).run();
      if (typeof outcome === "object") return outcome;
      if (outcome === "not to be had") return undefined;
      continue;
    }
    const outcome = await waitWith(inOrder, ticket);
    if (typeof outcome === "object") return outcome;
    if (outcome === "overslept" && options.ifOverslept === "fail") throw overslept(ref.name);
  }
}

/** Waits with one ticket. Whatever way it ends, its entry does not stay. */
async function waitWith(
  inOrder: InOrder,
  ticket: bigint,
): Promise<Granted | "overslept" | "again"> {
  const { kernel, ref, settings, stop } = inOrder;
  const place = kernel.format.queue?.entryOf(ref, ticket) ?? ref;
  const entry = await Entry.put(kernel, place, ticket, settings, stop);
  if (entry === undefined) return "again";
  try {
    return await contendInTurn(inOrder, entry);
  } catch (error) {
    if (!Entry.isOver(error)) throw error;
    tellOverslept(ref, settings.owner, ticket);
    return "overslept";
  } finally {
    entry.leave(kernel);
  }
}

async function contendInTurn(
  { kernel, ref, line, settings, joins, options }: InOrder,
  entry: Entry,
): Promise<Granted | "again"> {
  const waiting = new Waiting({ kernel, ref, settings, options }, entry);
  const own = withTicket(settings, entry.ticket, joins);
  const pacer = new Pacer(kernel, settings);
  for (; ; await pacer.beforeNextRound(entry.signal)) {
    await waiting.untilFirst();
    const place = { isFirst: () => waiting.isFirst() };
    const outcome = await new Contention(kernel, ref, line, own, entry, place).run();
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
    slowestPollMs: joins === "at once" ? settings.fastestPollMs : settings.slowestPollMs,
    queueing: undefined,
    passage: { kind: "ticket", ticket },
  };
}

/**
 * Acquires without waiting what could be had if there were no queue, where everybody in it is dead or
 * gone. Without it a queue that was left by its last waiter would stay for ever, for whoever only tries.
 */
async function tryInOrder(
  kernel: Kernel,
  ref: RecordRef,
  line: Line,
  settings: AcquireSettings,
  stop: Stop,
): Promise<Granted | undefined> {
  const isFirst = (upTo: bigint): Promise<boolean> =>
    isClear(kernel, ref, upTo, settings.owner, stop);
  // No ticket is taken where it would be of no use: each leaves a number behind.
  if (!(await isFirst(LAST_TICKET))) return undefined;
  const ticket = await takeTicket(kernel, ref, settings, stop);
  if (ticket === undefined) return undefined;
  const own = { ...settings, queueing: undefined, passage: { kind: "ticket", ticket } as const };
  const place = { isFirst: () => isFirst(ticket - 1n) };
  const outcome = await new Contention(kernel, ref, line, own, stop, place).run();
  return typeof outcome === "object" ? outcome : undefined;
}

/** Whether nobody who lives has a ticket up to this one. Rejects where the table told nothing. */
export async function isClear(
  kernel: Kernel,
  ref: RecordRef,
  upTo: bigint,
  owner: string,
  stop: Stopping,
): Promise<boolean> {
  const look = { strength: "strong", isWhole: true } as const;
  const reading = await readQueue(kernel, ref, upTo, look, stop);
  if (reading === undefined) throw stop.error();
  return (await clearedOf(kernel, ref, reading.entries, owner, stop)) === 0;
}

/** The error for a waiter that lost its place, and asked not to join again. */
export function overslept(name: string): HoldfastError {
  return new HoldfastError(
    "not-acquired",
    `Lock "${name}" was not acquired: this waiter could not keep its place in the queue, and ` +
      '`ifOverslept` is "fail". Acquire again to join at the back.',
    { lockName: name },
  );
}
