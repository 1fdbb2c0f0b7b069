import type { Cancelling } from "../core/acquire/cancellation.js";
import type { AcquireContext } from "../core/acquire/context.js";
import { GrantManyWrite, type GrantPart } from "../core/acquire/grant-many.js";
import { AcquireLoop } from "../core/acquire/loop.js";
import type { AcquireSettings, Granted, Place } from "../core/acquire/settings.js";
import { Hold } from "../core/hold/hold.js";
import { Pacer } from "../core/pacer.js";
import { Entry } from "../core/queue/entry.js";
import { isClear, overslept, withTicket } from "../core/queue/fifo.js";
import { LAST_TICKET } from "../core/queue/ticket.js";
import { Waiting } from "../core/queue/wait-turn.js";
import type { Decision } from "../core/record/decide.js";
import type { RecordRef } from "../core/record/format.js";
import { tooSlow } from "../core/unavailable.js";
import { type MultiAcquire, MultiPlace } from "./multi-place.js";

// Looks, and claims nothing: one lock that could be had is of no use before all can be.
const ONLY_LOOKING: Place = { isFirst: async () => false };

/**
 * Acquires all of several locks, or none; undefined where they are not to be had without waiting, and
 * there is no wait. Nothing is ever held while another is waited for, so nobody can wait in a circle.
 */
export async function acquireMany(together: MultiAcquire): Promise<readonly Granted[] | undefined> {
  const { refs, context, settings, cancellation, onPlaceExpired } = together;
  await look(
    together,
    refs.filter((ref) => !isGranting(context.decide(ref, false))),
  );
  const granted = await withoutPlace(together);
  if (granted !== undefined) return granted;
  if (settings.waitMs === 0) return closeQueues(together);
  cancellation.onWait(holderOf(together));
  const pacer = new Pacer(context, settings);
  for (; ; await pacer.beforeNextRound(cancellation.signal)) {
    const place = await MultiPlace.take(together);
    if (place === undefined) continue;
    try {
      const inTurn = await inOrder(together, place);
      if (inTurn !== "again") return inTurn;
    } catch (error) {
      if (!Entry.isOver(error)) throw error;
      if (onPlaceExpired === "fail") throw overslept(refs.map(({ name }) => name).join(", "));
    } finally {
      place.leave(context);
    }
  }
}

function holderOf({ context, refs }: MultiAcquire): string | undefined {
  const records = refs.map(({ id }) => context.observations.of(id)?.record);
  return records.flatMap((record) => (record?.state === "held" ? (record.owner ?? []) : []))[0];
}

/** Where all are free, or watched dead, and nobody is queued. */
async function withoutPlace(together: MultiAcquire): Promise<readonly Granted[] | undefined> {
  const { refs, context, cancellation, settings } = together;
  const pacer = new Pacer(context, settings);
  for (; ; await pacer.beforeNextRound(cancellation.signal)) {
    if (cancellation.isStopped) throw cancellation.error();
    // Whoever waits looks at the holders' sessions with a place; nobody else would.
    if (settings.waitMs === 0) {
      await Promise.all(refs.map((ref) => lookAt(context, ref, settings, cancellation)));
    }
    if (!refs.every((ref) => isGranting(context.decide(ref, false)))) return undefined;
    const granted = await grant(together, settings, cancellation);
    if (granted !== undefined) return granted;
  }
}

/** Waits for its turn in every queue, and for every lock, and takes them all. */
async function inOrder(
  together: MultiAcquire,
  place: MultiPlace,
): Promise<readonly Granted[] | "again"> {
  const { refs, context, settings } = together;
  const own = withTicket(settings, place.ticket);
  const queues = refs.map((ref) => new Waiting({ context, ref, settings, options: {} }, place));
  const pacer = new Pacer(context, settings);
  for (; ; await pacer.beforeNextRound(place.signal)) {
    await all(
      place,
      queues.map((queue) => queue.untilFirst()),
    );
    const standings = await all(
      place,
      refs.map((ref) => lookAt(context, ref, own, place)),
    );
    if (standings.includes("passed over")) return "again";
    const isFirst = await all(
      place,
      queues.map((queue) => queue.isFirst()),
    );
    if (!isFirst.every(Boolean)) continue;
    const granted = await grant(together, own, place);
    if (granted !== undefined) return granted;
  }
}

/** Without waiting, where nothing but queues stands before them in which nobody lives. */
async function closeQueues(together: MultiAcquire): Promise<readonly Granted[] | undefined> {
  const { refs, context, settings, cancellation } = together;
  const standings = refs.map((ref) => context.decide(ref, false));
  const isQueued = standings.every(
    (decision) => isGranting(decision) || decision.kind === "queued",
  );
  if (!isQueued || standings.every(isGranting)) return undefined;
  const isFirst = async (upTo: bigint): Promise<boolean> => {
    const clear = refs.map((ref) => isClear(context, ref, upTo, settings.owner, cancellation));
    return (await Promise.all(clear)).every(Boolean);
  };
  // No ticket is taken where it would be of no use: each leaves a number behind.
  if (!(await isFirst(LAST_TICKET))) return undefined;
  const place = await MultiPlace.take(together);
  if (place === undefined) return undefined;
  try {
    const own = { ...withTicket(settings, place.ticket), waitMs: 0 };
    await look(together, refs);
    if (!(await isFirst(place.ticket - 1n))) return undefined;
    return await grant(together, own, place);
  } finally {
    place.leave(context);
  }
}

/** One transaction; undefined where it was refused, or not all can be had as they were last seen. */
async function grant(
  together: MultiAcquire,
  settings: AcquireSettings,
  cancellation: Cancelling,
): Promise<readonly Granted[] | undefined> {
  const { refs, context } = together;
  const parts = refs.flatMap((ref) => {
    const decision = context.decide(ref, false, settings.passage);
    const before = context.observations.of(ref.id)?.record;
    return before !== undefined && isGranting(decision) ? [{ ref, decision, before }] : [];
  });
  if (parts.length < refs.length) {
    await look(together, refs);
    return undefined;
  }
  const begun = await new GrantManyWrite(context, parts, settings, cancellation).run();
  if (begun === "silent") {
    const silence = cancellation.error();
    await look(together, refs);
    const names = refs.map(({ name }) => name);
    const couldBeHad = refs.every((ref) =>
      isGranting(context.decide(ref, false, settings.passage)),
    );
    // Sent again, it would take as long, and end the same way: without a wait there is one attempt.
    if (settings.waitMs === 0 && couldBeHad) throw tooSlow(names, settings.leaseMs, silence);
  }
  if (typeof begun !== "object") return undefined;
  return begun.map((beginning, index) => {
    const { ref, decision } = parts[index] as (typeof parts)[number];
    // Whoever waits in order stands in no line of this process.
    const localQueue = context.localQueues.alone();
    localQueue.tryEnter();
    const how = decision.kind === "take over" ? "takeover" : "claim";
    return { hold: new Hold(context, ref, localQueue, beginning), record: beginning.record, how };
  });
}

function isGranting(decision: Decision): decision is GrantPart["decision"] {
  return (
    decision.kind === "take over" || (decision.kind === "claim" && decision.onto.kind !== "blind")
  );
}

/** `not first`: it could be had now. With a wait, resolves once it can, or never can. */
function lookAt(
  context: AcquireContext,
  ref: RecordRef,
  settings: AcquireSettings,
  cancellation: Cancelling,
): Promise<unknown> {
  const localQueue = context.localQueues.alone();
  return new AcquireLoop(context, ref, localQueue, settings, cancellation, ONLY_LOOKING).run();
}

/** Reads the records strongly, all at once, until each has been told. */
async function look(
  { context, settings, cancellation }: MultiAcquire,
  refs: readonly RecordRef[],
): Promise<void> {
  await Promise.all(
    refs.map(async (ref) => {
      for (;;) {
        if (cancellation.isStopped) throw cancellation.error();
        const read = { key: ref.key, consistent: true };
        const answer = await context.read(
          read,
          context.settings.requestTimeoutMs,
          cancellation.signal,
        );
        if (answer.kind === "misconfigured") throw answer.error;
        if (answer.kind === "found") {
          cancellation.onResponse();
          context.seeRecord(ref, answer.item, "strong");
          return;
        }
        cancellation.onNoResponse(answer);
        if (settings.waitMs === 0) throw cancellation.error();
        await context.sleep(context.jittered(settings.minPollMs), cancellation.signal);
      }
    }),
  );
}

// Where one of them fails the others have to end, too: nobody would wait for them.
async function all<T>(place: MultiPlace, tasks: readonly Promise<T>[]): Promise<T[]> {
  try {
    return await Promise.all(tasks);
  } catch (error) {
    place.end();
    await Promise.allSettled(tasks);
    throw error;
  }
}
