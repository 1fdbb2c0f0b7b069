import { withAcquisition } from "../core/acquire/acquire.js";
import type { AcquireContext } from "../core/acquire/context.js";
import { grantedTo, grantOnce } from "../core/acquire/grant.js";
import { AcquireLoop } from "../core/acquire/loop.js";
import { SecondDate } from "../core/acquire/second-date.js";
import type { AcquireSettings, Granted, RecordAcquisition } from "../core/acquire/settings.js";
import { steady } from "../core/backoff.js";
import type { Hold } from "../core/hold/hold.js";
import { HeldLease } from "../core/hold/lease.js";
import { Pacer } from "../core/pacer.js";
import { requireCapability } from "../core/record/capability.js";
import type { Held, RecordRef } from "../core/record/format.js";
import type { LeaseRecord } from "../core/record/record.js";
import { CLAIM } from "../core/table-access.js";
import { settlesWithin } from "../internal/settles-within.js";
import { RUNS } from "../native/native-runs.js";
import { retry } from "../platform/retry.js";

/** Whose work, and with which settings. */
export interface Working {
  readonly context: AcquireContext;
  readonly ref: RecordRef;
  readonly settings: AcquireSettings;
}

/** A granted run. */
export interface Run {
  readonly kind: "run";
  readonly hold: Hold;
  /** The run follows every call up to this number. */
  readonly covered: bigint;
  /** Gives up the run. What is owed stays in the record. */
  release(): Promise<void>;
}

/** A call that another run will follow. */
interface Noted {
  readonly kind: "noted";
  /** The number of the call: a run that covers it began after the call. */
  readonly number: bigint;
  /** The owner label of the present holder. */
  readonly by: string | undefined;
}

/** Nothing is owed, or a holder lives that may run it. */
interface NotOwed {
  readonly kind: "not-owed";
  readonly by: string | undefined;
}

/** A run that a caller gets, as `withAcquisition` uses it. */
class Begun implements Run {
  readonly kind = "run";
  readonly hold: Hold;
  readonly covered: bigint;

  constructor({ hold, record }: Granted) {
    this.hold = hold;
    // The grant itself has counted, so the number is there.
    this.covered = record.calls ?? 0n;
  }

  release(): Promise<void> {
    return new HeldLease(this.hold).release();
  }
}

/**
 * Gets a run, or counts the call in the record of a live holder, whose release then fails. Costs one write; a read of half
 * a unit before it, unless this client has seen the record within a second. Rejects as an acquisition without a wait.
 */
export async function runOrNote(working: Working): Promise<Run | Noted> {
  let noted: Noted | undefined;
  const run = await acquired(working, async (acquisition) => {
    const { context, settings, cancellation } = acquisition;
    await giveBackKept(acquisition);
    await lookFirst(acquisition);
    const pacer = new Pacer(context, settings);
    const secondDate = new SecondDate(context, working.ref);
    for (;;) {
      const granted = await ifTakeable(acquisition);
      if (granted !== undefined || noted !== undefined) return granted;
      noted = await note(acquisition);
      // Answers with a `Date` may show that the holder is dead.
      if (noted !== undefined) {
        while (secondDate.isMissing(decisionOf(acquisition), false)) await look(acquisition);
        if (!isTakeable(acquisition)) return undefined;
      }
      await pacer.beforeNextRound(cancellation.signal);
    }
  }).catch((error: unknown) => {
    // The call is noted, whatever became of the attempt to run it at once.
    if (noted === undefined) throw error;
    return undefined;
  });
  return run ?? (noted as Noted);
}

/**
 * Gets a run if one is owed, and no live holder is in the way: if the record has calls that no completed run covers. With
 * `since`, only if one of the calls up to this number is not covered, or the record is gone.
 */
export async function runIfOwed(working: Working, since?: bigint): Promise<Run | NotOwed> {
  const { context, ref } = working;
  let by: string | undefined;
  const run = await acquired(working, async (acquisition) => {
    const secondDate = new SecondDate(context, ref);
    const mustLookAgain = async () =>
      (await giveBackKept(acquisition)) || secondDate.isMissing(decisionOf(acquisition), false);
    do {
      const record = await look(acquisition);
      if (!isOwed(record, since)) return undefined;
      by = record.state === "held" ? record.owner : undefined;
    } while (await mustLookAgain());
    return ifTakeable(acquisition);
  });
  return run ?? { kind: "not-owed", by };
}

/** Whether a record has calls, up to a number, that no completed run covers. */
export function isOwed(record: LeaseRecord, since?: bigint): boolean {
  if (record.state === "absent") return since !== undefined;
  const { calls = 0n, ran = 0n } = record;
  return ran < (since ?? calls);
}

/** Gets the next run from the holder of the run before, which has ended but could not release the record. */
export function nextRun(working: Working, from: Held): Promise<Run | undefined> {
  return acquired(working, async (acquisition) => {
    const { cancellation } = acquisition;
    const decision = { kind: "import", from } as const;
    const answer = await grantOnce(acquisition, decision, "keep");
    if (answer.kind === "silent") throw cancellation.error();
    if (answer.kind === "refused") return undefined;
    return grantedTo(acquisition, answer.result, "hand-over");
  });
}

function acquired(
  { context, ref, settings }: Working,
  grant: (acquisition: RecordAcquisition) => Promise<Granted | undefined>,
): Promise<Run | undefined> {
  return withAcquisition<readonly [Granted] | undefined, Begun>({
    context,
    refs: [ref],
    settings,
    grant: async (cancellation) => {
      const granted = await grant({ context, ref, settings, cancellation });
      return granted && [granted];
    },
    begin: ([granted]) => new Begun(granted),
  });
}

function decisionOf({ context, ref, settings }: RecordAcquisition) {
  return context.decide(ref, false, settings.passage);
}

function isTakeable(acquisition: RecordAcquisition): boolean {
  // Without a table every lock is free.
  return acquisition.context.isUnlocked || decisionOf(acquisition).kind !== "wait";
}

/** Claims the record or takes it over, unless a live holder is known. */
async function ifTakeable(acquisition: RecordAcquisition): Promise<Granted | undefined> {
  if (!isTakeable(acquisition)) return undefined;
  // Not in this process's queue for the name: a call does not wait, and its release hands over to no waiter.
  const localQueue = acquisition.context.localQueues.alone(acquisition.ref.id);
  const outcome = await new AcquireLoop({ ...acquisition, localQueue }).run();
  return outcome.kind === "granted" ? outcome.granted : undefined;
}

/** Counts the call, if the record still has the holder that this client saw. */
async function note(acquisition: RecordAcquisition): Promise<Noted | undefined> {
  const { context, ref, settings, cancellation } = acquisition;
  const seen = context.observations.held(ref.id);
  if (seen === undefined) return undefined;
  const write = requireCapability(context.format, RUNS).raise(ref, seen, context.wallMs());
  const { requestTimeoutMs } = context.settings;
  const { signal } = cancellation;
  const untilMs = context.nowMs() + requestTimeoutMs;
  const send = async () =>
    context.unlessLasting(await context.write(write, requestTimeoutMs, signal, CLAIM), false);
  const retried = await retry(context, send, {
    backoff: context.patient(steady(settings.retryMs)),
    isOver: () => context.nowMs() >= untilMs,
    signal,
    onNoAnswer: (answer) => cancellation.onNoResponse(answer),
  });
  if (retried.kind !== "answered") throw cancellation.error();
  cancellation.onResponse();
  const { answer } = retried;
  const record = context.seeRecord(ref, answer, "strong");
  if (answer.kind !== "applied" || record.state !== "held") return undefined;
  return { kind: "noted", number: record.calls ?? 0n, by: record.owner };
}

/**
 * Gives back a lease that this client only keeps for a next use: it would hold up the run for as long as it is kept. Resolves
 * with whether there was one.
 */
export async function giveBackKept({
  context,
  ref,
}: Pick<Working, "context" | "ref">): Promise<boolean> {
  const givenBack = context.localQueues.yields(ref.id);
  if (givenBack === undefined) return false;
  // Without an answer, the call ends or is noted as behind any other holder.
  await settlesWithin(context.timers, context.settings.requestTimeoutMs, givenBack);
  return true;
}

// An older observation is often of an earlier holder, and a write that is refused costs ten times as much.
const FRESH_MS = 1_000;

/** Reads the record, unless this client has just seen it. The writes decide, so a failed read does no harm. */
async function lookFirst(acquisition: RecordAcquisition): Promise<void> {
  const { context, ref } = acquisition;
  if (context.nowMs() - context.observations.lookedAtMs(ref.id) < FRESH_MS) return;
  const answer = await read(acquisition, false);
  // An eventual read does not prove that the record is absent.
  if (answer.kind === "found" && answer.item !== undefined)
    context.seeRecord(ref, answer, "eventual");
}

async function look(acquisition: RecordAcquisition): Promise<LeaseRecord> {
  const { context, ref, cancellation } = acquisition;
  const answer = await read(acquisition, true);
  if (answer.kind === "found") return context.seeRecord(ref, answer, "strong");
  cancellation.onNoResponse(answer);
  throw cancellation.error();
}

async function read({ context, ref, cancellation }: RecordAcquisition, consistent: boolean) {
  const reading = { key: ref.key, consistent };
  const answer = await context.read(reading, undefined, cancellation.signal);
  return context.unlessLasting(answer, false);
}
