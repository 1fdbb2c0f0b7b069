import type { Cancelling } from "../core/acquire/cancellation.js";
import { untilGivenBack } from "../core/acquire/given-back.js";
import { grantedTo } from "../core/acquire/grant.js";
import { GrantManyWrite, type GrantPart } from "../core/acquire/grant-many.js";
import { AcquireLoop } from "../core/acquire/loop.js";
import type { AcquireOutcome } from "../core/acquire/outcome.js";
import type { AcquireSettings, Acquisition, Granted, Place } from "../core/acquire/settings.js";
import { inTurn } from "../core/acquire/turn.js";
import { untilAnswered } from "../core/acquire/until-answered.js";
import { Pacer } from "../core/pacer.js";
import { joinedOf } from "../core/permits/joined.js";
import { Entry } from "../core/queue/entry.js";
import { isClear, isQueueRead, overslept, withTicket } from "../core/queue/fifo.js";
import { LAST_TICKET } from "../core/queue/ticket.js";
import { Waiting } from "../core/queue/wait-turn.js";
import type { Decision } from "../core/record/decide.js";
import type { RecordRef } from "../core/record/format.js";
import type { Passage } from "../core/record/record.js";
import { tooSlow } from "../core/unavailable.js";
import { type MultiAcquire, MultiPlace } from "./multi-place.js";

// A place that is never first. With it, the loop reads and waits, but claims nothing: one available lock is of no use
// before all locks are available.
const READ_ONLY: Place = { isFirst: async () => false };

/**
 * Acquires all of several locks, or none. Resolves with undefined if the caller allows no wait and a lock is not
 * available. A client never holds one of these locks while it waits for another, so two clients cannot deadlock.
 */
export async function acquireMany(together: MultiAcquire): Promise<readonly Granted[] | undefined> {
  const { refs, permits, settings, context } = together;
  await untilGivenBack(together, refs);
  const interrupted = refs.flatMap(({ id }) => context.observations.askedMs(id) ?? []);
  if (interrupted.length > 0) await standBack(together, Math.max(...interrupted));
  try {
    await openSessions(together);
    await readAll(
      together,
      refs.filter((ref) => !isAvailable(together, ref)),
    );
    const granted = await acquireFree(together);
    if (granted !== undefined) return granted;
    return await (settings.waitMs === 0
      ? acquirePastDeadWaiters(together)
      : acquireInTurn(together));
  } finally {
    for (const part of permits.values()) part.ended(together);
  }
}

/** Leaves the locks to the caller that interrupted the holder of one, as a call for this one lock does. */
async function standBack(
  { context, settings, cancellation }: MultiAcquire,
  sinceMs: number,
): Promise<void> {
  const { leftMs = 0, signal } = cancellation;
  const pauseMs = Math.min(sinceMs + settings.maxPollMs - context.nowMs(), leftMs / 2);
  if (pauseMs > 0) await context.sleep(pauseMs, signal);
}

/** Opens the sessions of the permits, and others after their end. */
async function openSessions(together: MultiAcquire): Promise<void> {
  for (const part of together.permits.values()) await part.open(together);
}

/** Whether the lock can be granted by the last observation of its record. */
function isAvailable(together: MultiAcquire, ref: RecordRef, passage?: Passage): boolean {
  const part = together.permits.get(ref.id);
  if (part !== undefined) return part.decide(together, passage) === "grant";
  return isGranting(together.context.decide(ref, false, passage));
}

function isQueued(together: MultiAcquire, ref: RecordRef): boolean {
  const part = together.permits.get(ref.id);
  const kind = part ? part.decide(together) : together.context.decide(ref, false).kind;
  return kind === "queued";
}

/** Acquires all locks without a place in a queue. Resolves with undefined if a lock is held or has a queue. */
async function acquireFree(together: MultiAcquire): Promise<readonly Granted[] | undefined> {
  const { refs, context, cancellation, settings } = together;
  const pacer = new Pacer(context, settings);
  for (; ; await pacer.beforeNextRound(cancellation.signal)) {
    if (cancellation.isStopped) throw cancellation.error();
    // A call with a wait polls the sessions of the holders later, when it has a place.
    await openSessions(together);
    if (settings.waitMs === 0) {
      await Promise.all(refs.map((ref) => untilAvailable(together, ref, together)));
    }
    if (!refs.every((ref) => isAvailable(together, ref))) return undefined;
    const granted = await grantAll(together, settings, cancellation);
    if (granted !== undefined) return granted;
  }
}

/** Takes a place in the queues and waits with it. Takes another place if this place ends without a grant. */
async function acquireInTurn(together: MultiAcquire): Promise<readonly Granted[]> {
  const { refs, context, settings, cancellation, onPlaceExpired } = together;
  cancellation.onWait(ownerOfHolder(together));
  const pacer = new Pacer(context, settings);
  const [first] = refs;
  let isBlind = false;
  for (; ; await pacer.beforeNextRound(cancellation.signal)) {
    if (isBlind && first && !(await isQueueRead(context, first, cancellation))) continue;
    const place = await MultiPlace.take(together);
    if (place === undefined) continue;
    try {
      const outcome = await acquireWith(together, place);
      if (outcome.kind === "granted") return outcome.granted;
    } catch (error) {
      if (!Entry.isOver(error)) throw error;
      if (onPlaceExpired === "fail") throw overslept(refs.map(({ name }) => name).join(", "));
    } finally {
      isBlind = place.isBlind;
      place.leave();
    }
  }
}

function ownerOfHolder({ context, refs }: MultiAcquire): string | undefined {
  return refs.flatMap(({ id }) => context.observations.held(id)?.owner ?? [])[0];
}

/** How the wait with one place ends. `again`: the locks can never be granted to this place. */
type TurnOutcome =
  | { readonly kind: "granted"; readonly granted: readonly Granted[] }
  | { readonly kind: "again" };

/** Waits until the place is first in every queue and every lock is available. Then acquires all locks. */
async function acquireWith(together: MultiAcquire, place: MultiPlace): Promise<TurnOutcome> {
  const { refs, context, settings } = together;
  const own = withTicket(settings, place.ticket);
  const queues = refs.map((ref) => new Waiting({ context, ref, settings, options: {} }, place));
  const pacer = new Pacer(context, settings);
  for (; ; await pacer.beforeNextRound(place.signal)) {
    await openSessions(together);
    await all(
      place,
      queues.map((queue) => queue.untilFirst()),
    );
    const outcomes = await all(
      place,
      refs.map((ref) =>
        untilAvailable(together, ref, { context, settings: own, cancellation: place }),
      ),
    );
    if (outcomes.some(({ kind }) => kind === "passed-over")) return { kind: "again" };
    const isFirst = await all(
      place,
      queues.map((queue) => queue.isFirst()),
    );
    if (!isFirst.every(Boolean)) continue;
    const granted = await grantAll(together, own, place);
    if (granted === undefined) continue;
    for (const queue of queues) queue.tidy();
    return { kind: "granted", granted };
  }
}

/**
 * Acquires locks with queues for a caller that does not wait. Resolves with undefined unless all locks are free and all
 * waiters in their queues are dead.
 */
async function acquirePastDeadWaiters(
  together: MultiAcquire,
): Promise<readonly Granted[] | undefined> {
  const { refs, context, settings, cancellation } = together;
  const queued = refs.filter((ref) => !isAvailable(together, ref));
  if (queued.length === 0 || !queued.every((ref) => isQueued(together, ref))) return undefined;
  const isFirst = async (upTo: bigint): Promise<boolean> => {
    const clear = refs.map((ref) => isClear(context, ref, upTo, settings.owner, cancellation));
    return (await Promise.all(clear)).every(Boolean);
  };
  // A ticket costs a write and stays in the records. So the caller takes a ticket only if the ticket can be first.
  if (!(await isFirst(LAST_TICKET))) return undefined;
  const place = await MultiPlace.take(together);
  if (place === undefined) return undefined;
  try {
    const own = { ...withTicket(settings, place.ticket), waitMs: 0 };
    await readAll(together, refs);
    // Removes the permits of dead holders, as the grant itself never does.
    const acquisition = { context, settings: own, cancellation };
    await Promise.all(refs.map((ref) => untilAvailable(together, ref, acquisition)));
    if (!(await isFirst(place.ticket - 1n))) return undefined;
    // Goes on if the place expires meanwhile, for example in a pause of the process: DynamoDB refuses the ticket if a later
    // ticket was granted before.
    return await grantAll(together, own, cancellation);
  } finally {
    place.leave();
  }
}

/**
 * Sends one transaction that grants all locks. Resolves with undefined if DynamoDB refuses the transaction or does not
 * answer it. Sends none, and resolves with undefined, if a lock is not available by the last observation of its record.
 */
async function grantAll(
  together: MultiAcquire,
  settings: AcquireSettings,
  cancellation: Cancelling,
): Promise<readonly Granted[] | undefined> {
  const { refs, context, permits } = together;
  if (!refs.every((ref) => isAvailable(together, ref, settings.passage))) {
    await readAll(together, refs);
    return undefined;
  }
  const parts = refs.flatMap((ref) => {
    if (permits.has(ref.id)) return [];
    const decision = context.decide(ref, false, settings.passage);
    const before = context.observations.of(ref.id)?.record;
    return before !== undefined && isGranting(decision) ? [{ ref, decision, before }] : [];
  });
  const acquisition = { context, settings, cancellation };
  const answer = await inTurn(acquisition, (turn) => {
    const joined = joinedOf([...permits.values()].map((part) => part.grant(acquisition)));
    return new GrantManyWrite(acquisition, parts, turn, [], joined).run();
  });
  if (answer.kind === "silent") {
    const silence = cancellation.error();
    await readAll(together, refs);
    const names = refs.map(({ name }) => name);
    const areAvailable = refs.every((ref) => isAvailable(together, ref, settings.passage));
    // A caller that does not wait has one attempt: another transaction would take as long and end the same way.
    if (settings.waitMs === 0 && areAvailable) throw tooSlow(names, settings.leaseMs, silence);
  }
  if (answer.kind !== "granted") return undefined;
  const granted = answer.results.map((result, index): Granted => {
    const { ref, decision } = parts[index] as (typeof parts)[number];
    // A waiter with a place in the queue of a record does not enter the local queue.
    const localQueue = context.localQueues.alone(ref.id);
    localQueue.tryEnter();
    const how = decision.kind === "take-over" ? "takeover" : "claim";
    return grantedTo({ context, ref }, result, how, localQueue);
  });
  // In the order of the caller's locks.
  const [others, joined] = [granted[Symbol.iterator](), (answer.joined ?? [])[Symbol.iterator]()];
  return refs.map(({ id }) => (permits.has(id) ? joined : others).next().value as Granted);
}

function isGranting(decision: Decision): decision is GrantPart["decision"] {
  return (
    decision.kind === "take-over" || (decision.kind === "claim" && decision.onto.kind !== "blind")
  );
}

/**
 * Waits until one lock is available (outcome `not-first`), or until it can never be granted to this place (outcome
 * `passed-over`). If the caller does not wait, only reads.
 */
function untilAvailable(
  { permits }: MultiAcquire,
  ref: RecordRef,
  { context, settings, cancellation }: Acquisition,
): Promise<AcquireOutcome> {
  const acquisition = { context, settings, cancellation };
  const part = permits.get(ref.id);
  if (part !== undefined) return part.untilAvailable(acquisition, READ_ONLY);
  const localQueue = context.localQueues.alone();
  return new AcquireLoop({ ...acquisition, ref, localQueue, place: READ_ONLY }).run();
}

/** Reads all records at the same time, strongly consistent. Repeats each read until DynamoDB answers. */
async function readAll(acquisition: MultiAcquire, refs: readonly RecordRef[]): Promise<void> {
  const { context, settings, cancellation } = acquisition;
  const asking = { pauseMs: settings.retryMs };
  await Promise.all(
    refs.map(async (ref) => {
      const read = { key: ref.key, consistent: true };
      const answer = await untilAnswered(acquisition, asking, () =>
        context.read(read, undefined, cancellation.signal),
      );
      const part = acquisition.permits.get(ref.id);
      if (part === undefined) context.seeRecord(ref, answer, "strong");
      else part.see(context, answer);
    }),
  );
}

// If one task fails, no caller receives the results of the other tasks. So a failure gives up the place, which ends the
// other tasks.
async function all<T>(place: MultiPlace, tasks: readonly Promise<T>[]): Promise<T[]> {
  try {
    return await Promise.all(tasks);
  } catch (error) {
    place.end();
    await Promise.allSettled(tasks);
    throw error;
  }
}
