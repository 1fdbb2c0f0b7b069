import { HoldfastError, isHoldfastError } from "../../errors.js";
import type { Cancelling } from "../acquire/cancellation.js";
import type { AcquireContext } from "../acquire/context.js";
import { grantedTo } from "../acquire/grant.js";
import { AcquireLoop } from "../acquire/loop.js";
import type { AcquireOutcome } from "../acquire/outcome.js";
import type {
  AcquireSettings,
  AtTable,
  Contending,
  Granted,
  Queueing,
} from "../acquire/settings.js";
import { emitPlaceExpired } from "../events.js";
import type { SharedPlace } from "../local-queue.js";
import { Pacer } from "../pacer.js";
import type { RecordRef } from "../record/format.js";
import type { Passage } from "../record/record.js";
import { Entry } from "./entry.js";
import type { QueueOptions } from "./options.js";
import { permissionForPlaces } from "./permission.js";
import { claimOnce, QueuePlace } from "./place.js";
import { highestTicketSeen, placesAtOnce } from "./place-at-once.js";
import { clearedOf, readQueue } from "./predecessors.js";
import { LAST_TICKET, takeTickets } from "./ticket.js";
import { Waiting } from "./wait-turn.js";

// The transaction requires that others have taken fewer tickets than this since the client saw the counter.
const TICKETS_TAKEN_MEANWHILE = 1_000n;

/** Contends for a grant. The queue only decides whose turn it is. */
export type Contend = (contending: Contending) => Promise<AcquireOutcome>;

const forRecord: Contend = (contending) => new AcquireLoop(contending).run();

/** Returns how an acquisition joins the queue before its lock. */
export function queueing(
  joins: Queueing["joins"],
  options: QueueOptions = {},
  contend: Contend = forRecord,
): Queueing {
  return {
    joins,
    onPosition: options.onPosition,
    failsWithoutPlace: options.onPlaceExpired === "fail",
    mayJoin: permissionForPlaces,
    acquire: (acquisition) =>
      acquisition.settings.waitMs === 0
        ? tryInOrder(acquisition, contend)
        : acquireInOrder({ ...acquisition, joins, options, contend }),
  };
}

/** One acquisition that queues. */
interface InOrder extends AtTable {
  readonly joins: Queueing["joins"];
  readonly options: QueueOptions;
  readonly contend: Contend;
}

async function acquireInOrder(inOrder: InOrder): Promise<Granted | undefined> {
  const { context, ref, localQueue, settings, cancellation, options, contend } = inOrder;
  const pacer = new Pacer(context, settings);
  let isPassedOver = false;
  let isBlind = false;
  for (; ; await pacer.beforeNextRound(cancellation.signal)) {
    // Behind a place of a waiter that cannot read, a free lock would wait for a lease again.
    if (isBlind && !(await isQueueRead(context, ref, cancellation))) continue;
    // The session of a call that gave up may end during the wait of this one.
    const ends: unknown[] = [undefined, settings.keptAliveBy?.over];
    if (!ends.includes(localQueue.place?.endsWith)) localQueue.leavePlace();
    const place = localQueue.place ?? (await takePlace(inOrder, isPassedOver));
    if (place === "no record") {
      // Without a record there is no queue: the waiter claims the record.
      const outcome = await contend(inOrder);
      if (outcome.kind === "granted") return outcome.granted;
      if (outcome.kind === "not-available") return undefined;
      continue;
    }
    if (place === "refused") continue;
    localQueue.keepPlace(place);
    const outcome = await waitWith(inOrder, place);
    if (outcome.kind === "granted") return outcome.granted;
    isPassedOver = outcome.kind === "passed-over";
    isBlind = outcome.kind === "place-expired" && outcome.isBlind;
    if (outcome.kind === "place-expired" && options.onPlaceExpired === "fail")
      throw overslept(ref.name);
  }
}

/**
 * Takes a place for this waiter and for all waiters behind it in the local queue, with a ticket for each. Unless all have
 * the same session, the place renews itself: the end of one session must cost no other waiter its turn. A later ticket
 * may be granted before a waiter has written its entry, and on a slow network this can happen each time. So a waiter
 * that was passed over takes its ticket and its entry in one transaction, which costs twice the write units.
 */
async function takePlace(
  { settings: own, ...others }: InOrder,
  isPassedOver: boolean,
): Promise<QueuePlace | "no record" | "refused"> {
  const { context, ref, localQueue } = others;
  const { waiters } = localQueue;
  const count = 1 + waiters.length;
  const isShared = waiters.every(
    ({ settings }) => settings.keptAliveBy?.over === own.keptAliveBy?.over,
  );
  const settings = isShared ? own : { ...own, keptAliveBy: undefined };
  const inOrder = { ...others, settings };
  const isAtOnce = isPassedOver && context.table.transact !== undefined;
  const seen = isAtOnce ? highestTicketSeen(context, [ref]) : undefined;
  if (seen !== undefined) {
    const first = seen + TICKETS_TAKEN_MEANWHILE;
    const tickets = { first, last: first + BigInt(count) - 1n };
    const places = await placesAtOnce(inOrder, [ref], tickets).catch(unlessNoTransactions);
    if (places?.[0] !== undefined) return places[0];
  }
  const tickets = await takeTickets(inOrder, count);
  if (tickets === undefined) return "no record";
  return (await QueuePlace.take(inOrder, tickets)) ?? "refused";
}

// Ignores `misconfigured`: a strongly consistent global table has no transactions. If the cause is another fault, the
// two separate requests that follow report it.
function unlessNoTransactions(error: unknown): undefined {
  if (!isHoldfastError(error, "misconfigured")) throw error;
  return undefined;
}

/** The end of the wait with one ticket. `passed-over`, `again`: this ticket can never be granted. */
type TurnOutcome =
  | { readonly kind: "granted"; readonly granted: Granted }
  | { readonly kind: "place-expired"; readonly isBlind: boolean }
  | { readonly kind: "passed-over" | "again" };

/**
 * Waits with the next ticket of a place. A waiter that gives up leaves the place to the next waiter of this process;
 * if there is none, the local queue removes its entry from the table.
 */
async function waitWith(inOrder: InOrder, place: SharedPlace): Promise<TurnOutcome> {
  const { ref, localQueue, settings, cancellation } = inOrder;
  const ticket = place.next ?? place.last;
  const entry = new Entry(place, ticket, cancellation, inOrder);
  try {
    const outcome = await contendInTurn(inOrder, entry);
    if (outcome.kind === "granted") localQueue.takeTicket();
    else localQueue.leavePlace();
    return outcome;
  } catch (error) {
    if (!Entry.isOver(error)) throw error;
    emitPlaceExpired(ref, settings.owner, ticket);
    localQueue.placeExpired(overslept(ref.name));
    return { kind: "place-expired", isBlind: entry.isBlind };
  } finally {
    entry.dispose();
  }
}

async function contendInTurn(
  { context, ref, localQueue, settings, joins, options, contend }: InOrder,
  entry: Entry,
): Promise<TurnOutcome> {
  const onPosition = (position: number): void => {
    localQueue.announce(position + 1);
    options.onPosition?.(position);
  };
  const waiting = new Waiting(
    { context, ref, settings, options: { ...options, onPosition } },
    entry,
  );
  const own = withTicket(settings, entry.ticket, joins);
  const pacer = new Pacer(context, settings);
  for (; ; await pacer.beforeNextRound(entry.signal)) {
    const isTold = await waiting.untilFirst(true);
    const settled = { context, ref, localQueue, cancellation: entry };
    if (isTold) {
      // The write itself requires that the last granted ticket is the one before. A refusal shows the record.
      const passage = { ...own.passage, isNext: true };
      const answer = await claimOnce({ ...settled, settings: { ...own, passage } }, "existing");
      if (answer.kind !== "granted") continue;
      const granted = grantedTo(settled, answer.result, "claim", localQueue);
      return { kind: "granted", granted };
    }
    const outcome = await contend({ ...settled, settings: own, place: waiting });
    if (outcome.kind === "granted") {
      waiting.tidy();
      return outcome;
    }
    if (outcome.kind === "passed-over") return { kind: "passed-over" };
    // The record is gone.
    if (outcome.kind !== "not-first") return { kind: "again" };
  }
}

/** Whether the table serves reads of a queue, for a waiter that gave its place up without any. Rejects at the end of the wait. */
export async function isQueueRead(
  context: AcquireContext,
  ref: RecordRef,
  cancellation: Cancelling,
): Promise<boolean> {
  const look = { strength: "eventual", isWhole: false } as const;
  const reading = await readQueue(context, ref, 0n, look, cancellation);
  if (cancellation.isStopped) throw cancellation.error();
  return reading !== undefined;
}

type TicketPassage = Extract<Passage, { readonly kind: "ticket" }>;

/** Returns the settings for an acquisition with a ticket. */
export function withTicket(
  settings: AcquireSettings,
  ticket: bigint,
  joins: Queueing["joins"] = "at once",
): AcquireSettings & { readonly passage: TicketPassage } {
  return {
    ...settings,
    // The first waiter of a fair lock always polls at the shortest interval.
    maxPollMs: joins === "at once" ? settings.minPollMs : settings.maxPollMs,
    heardMs: settings.maxPollMs,
    queueing: undefined,
    passage: { kind: "ticket", ticket },
  };
}

/**
 * Acquires without waiting if every waiter in the queue is dead or gone. Without this function, an abandoned queue
 * would keep callers of `tryAcquire` out for ever.
 */
async function tryInOrder(contending: Contending, contend: Contend): Promise<Granted | undefined> {
  const { context, ref, settings, cancellation } = contending;
  const isFirst = (upTo: bigint): Promise<boolean> =>
    isClear(context, ref, upTo, settings.owner, cancellation);
  // The caller takes a ticket only if a grant is possible, because each ticket raises the counter for good.
  if (!(await isFirst(LAST_TICKET))) return undefined;
  const tickets = await takeTickets(contending, 1);
  if (tickets === undefined) return undefined;
  const ticket = tickets.last;
  const own = { ...settings, queueing: undefined, passage: { kind: "ticket", ticket } as const };
  const place = { isFirst: () => isFirst(ticket - 1n) };
  const outcome = await contend({ ...contending, settings: own, place });
  return outcome.kind === "granted" ? outcome.granted : undefined;
}

/** Whether no live waiter has a ticket up to this one. Rejects if DynamoDB does not answer. */
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

/** Returns the error for an expired place with `onPlaceExpired: "fail"`. */
export function overslept(name: string): HoldfastError {
  return new HoldfastError(
    "not-acquired",
    `Lock "${name}" was not acquired: this waiter's place in the queue expired, and ` +
      '`onPlaceExpired` is "fail". Acquire again to join at the back.',
    { lockName: name },
  );
}
