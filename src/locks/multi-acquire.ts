import { Contention, type Granted } from "../core/acquire/loop.js";
import type { Decision } from "../core/record/decide.js";
import type { RecordRef } from "../core/record/format.js";
import { Hold } from "../core/hold/hold.js";
import { JointAttempt, type JointPart } from "../core/acquire/grant-many.js";
import type { Kernel } from "../core/context.js";
import type { AcquireSettings } from "../core/options.js";
import { Pacer } from "../core/pacer.js";
import type { Place } from "../core/acquire/queueing.js";
import type { Stopping } from "../core/acquire/cancellation.js";
import { tooSlow } from "../core/unavailable.js";
import { Entry } from "../core/queue/entry.js";
import { isClear, overslept, withTicket } from "../core/queue/fifo.js";
import { LAST_TICKET } from "../core/queue/ticket.js";
import { Waiting } from "../core/queue/wait-turn.js";
import { JointPlace } from "./multi-place.js";

/** One acquisition of several locks. */
export interface Together {
  readonly kernel: Kernel;
  readonly refs: readonly RecordRef[];
  readonly settings: AcquireSettings;
  readonly stop: Stopping;
  readonly ifOverslept: "rejoin" | "fail";
}

// Looks, and claims nothing: one lock that could be had is of no use before all can be.
const ONLY_LOOKING: Place = { isFirst: async () => false };

/**
 * Acquires all of several locks, or none; undefined where they are not to be had without waiting, and
 * there is no wait. Nothing is ever held while another is waited for, so nobody can wait in a circle.
 */
export async function acquireTogether(together: Together): Promise<readonly Granted[] | undefined> {
  const { refs, kernel, settings, stop, ifOverslept } = together;
  await look(
    together,
    refs.filter((ref) => !isGranting(kernel.decide(ref, false))),
  );
  const granted = await withoutPlace(together);
  if (granted !== undefined) return granted;
  if (settings.waitMs === 0) return closeQueues(together);
  stop.waits(holderOf(together));
  const pacer = new Pacer(kernel, settings);
  for (; ; await pacer.beforeNextRound(stop.signal)) {
    const place = await JointPlace.take(together);
    if (place === undefined) continue;
    try {
      const inTurn = await inOrder(together, place);
      if (inTurn !== "again") return inTurn;
    } catch (error) {
      if (!Entry.isOver(error)) throw error;
      if (ifOverslept === "fail") throw overslept(refs.map(({ name }) => name).join(", "));
    } finally {
      place.leave(kernel);
    }
  }
}

function holderOf({ kernel, refs }: Together): string | undefined {
  const records = refs.map(({ id }) => kernel.observations.of(id)?.record);
  return records.flatMap((record) => (record?.state === "held" ? (record.owner ?? []) : []))[0];
}

/** Where all are free, or watched dead, and nobody is queued. */
async function withoutPlace(together: Together): Promise<readonly Granted[] | undefined> {
  const { refs, kernel, stop, settings } = together;
  const pacer = new Pacer(kernel, settings);
  for (; ; await pacer.beforeNextRound(stop.signal)) {
    if (stop.isStopped) throw stop.error();
    // Whoever waits looks at the holders' sessions with a place; nobody else would.
    if (settings.waitMs === 0) {
      await Promise.all(refs.map((ref) => lookAt(kernel, ref, settings, stop)));
    }
    if (!refs.every((ref) => isGranting(kernel.decide(ref, false)))) return undefined;
    const granted = await grant(together, settings, stop);
    if (granted !== undefined) return granted;
  }
}

/** Waits for its turn in every queue, and for every lock, and takes them all. */
async function inOrder(
  together: Together,
  place: JointPlace,
): Promise<readonly Granted[] | "again"> {
  const { refs, kernel, settings } = together;
  const own = withTicket(settings, place.ticket);
  const queues = refs.map((ref) => new Waiting({ kernel, ref, settings, options: {} }, place));
  const pacer = new Pacer(kernel, settings);
  for (; ; await pacer.beforeNextRound(place.signal)) {
    await all(
      place,
      queues.map((queue) => queue.untilFirst()),
    );
    const standings = await all(
      place,
      refs.map((ref) => lookAt(kernel, ref, own, place)),
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
async function closeQueues(together: Together): Promise<readonly Granted[] | undefined> {
  const { refs, kernel, settings, stop } = together;
  const standings = refs.map((ref) => kernel.decide(ref, false));
  const isQueued = standings.every(
    (decision) => isGranting(decision) || decision.kind === "queued",
  );
  if (!isQueued || standings.every(isGranting)) return undefined;
  const isFirst = async (upTo: bigint): Promise<boolean> => {
    const clear = refs.map((ref) => isClear(kernel, ref, upTo, settings.owner, stop));
    return (await Promise.all(clear)).every(Boolean);
  };
  // No ticket is taken where it would be of no use: each leaves a number behind.
  if (!(await isFirst(LAST_TICKET))) return undefined;
  const place = await JointPlace.take(together);
  if (place === undefined) return undefined;
  try {
    const own = { ...withTicket(settings, place.ticket), waitMs: 0 };
    await look(together, refs);
    if (!(await isFirst(place.ticket - 1n))) return undefined;
    return await grant(together, own, place);
  } finally {
    place.leave(kernel);
  }
}

/** One transaction; undefined where it was refused, or not all can be had as they were last seen. */
async function grant(
  together: Together,
  settings: AcquireSettings,
  stop: Stopping,
): Promise<readonly Granted[] | undefined> {
  const { refs, kernel } = together;
  const parts = refs.flatMap((ref) => {
    const decision = kernel.decide(ref, false, settings.passage);
    const before = kernel.observations.of(ref.id)?.record;
    return before !== undefined && isGranting(decision) ? [{ ref, decision, before }] : [];
  });
  if (parts.length < refs.length) {
    await look(together, refs);
    return undefined;
  }
  const begun = await new JointAttempt(kernel, parts, settings, stop).run();
  if (begun === "silent") {
    const silence = stop.error();
    await look(together, refs);
    const names = refs.map(({ name }) => name);
    const couldBeHad = refs.every((ref) => isGranting(kernel.decide(ref, false, settings.passage)));
    // Sent again, it would take as long, and end the same way: without a wait there is one attempt.
    if (settings.waitMs === 0 && couldBeHad) throw tooSlow(names, settings.leaseMs, silence);
  }
  if (typeof begun !== "object") return undefined;
  return begun.map((beginning, index) => {
    const { ref, decision } = parts[index] as (typeof parts)[number];
    // Whoever waits in order stands in no line of this process.
    const line = kernel.lines.alone();
    line.tryTurn();
    const how = decision.kind === "take over" ? "takeover" : "claim";
    return { hold: new Hold(kernel, ref, line, beginning), record: beginning.record, how };
  });
}

function isGranting(decision: Decision): decision is JointPart["decision"] {
  return (
    decision.kind === "take over" || (decision.kind === "claim" && decision.onto.kind !== "blind")
  );
}

/** `not first`: it could be had now. With a wait, resolves once it can, or never can. */
function lookAt(
  kernel: Kernel,
  ref: RecordRef,
  settings: AcquireSettings,
  stop: Stopping,
): Promise<unknown> {
  const line = kernel.lines.alone();
  return new Contention(kernel, ref, line, settings, stop, ONLY_LOOKING).run();
}

/** Reads the records strongly, all at once, until each has been told. */
async function look(
  { kernel, settings, stop }: Together,
  refs: readonly RecordRef[],
): Promise<void> {
  await Promise.all(
    refs.map(async (ref) => {
      for (;;) {
        if (stop.isStopped) throw stop.error();
        const read = { key: ref.key, consistent: true };
        const answer = await kernel.read(read, kernel.settings.requestTimeoutMs, stop.signal);
        if (answer.kind === "misconfigured") throw answer.error;
        if (answer.kind === "found") {
          stop.told();
          kernel.seeRecord(ref, answer.item, "strong");
          return;
        }
        stop.troubled(answer);
        if (settings.waitMs === 0) throw stop.error();
        await kernel.sleep(kernel.jittered(settings.fastestPollMs), stop.signal);
      }
    }),
  );
}

// Where one of them fails the others have to end, too: nobody would wait for them.
async function all<T>(place: JointPlace, tasks: readonly Promise<T>[]): Promise<T[]> {
  try {
    return await Promise.all(tasks);
  } catch (error) {
    place.end();
    await Promise.allSettled(tasks);
    throw error;
  }
}
