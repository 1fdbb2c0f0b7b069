import { doubling } from "../core/backoff.js";
import { FailingCall } from "../core/failing-call.js";
import type { HeldLease } from "../core/hold/lease.js";
import { anySignal } from "../core/hold/loss-signal.js";
import { OutageWatch } from "../core/outage-watch.js";
import type { Unavailable } from "../core/unavailable.js";
import { isOutageError } from "../core/unavailable.js";
import { HoldfastError, isHoldfastError } from "../errors.js";
import { asSentence } from "../internal/sentence.js";
import { onAbort } from "../platform/abort.js";
import { dateAt, isoTimeOf } from "../platform/clock.js";
import type { Backoff } from "../platform/retry.js";
import { begunOf, decideStep, type Ended, endedOf, interruptedIn, type Seen } from "./decide.js";
import { emitRun, type ScheduleRunEvent } from "./events.js";
import type { Memory } from "./memory.js";
import type { ScheduleSettings } from "./options.js";
import { begin, end, look, type Place, type Sight, sightAfter } from "./record.js";
import { runToEnd, type ScheduledWork } from "./run.js";
import { type Pause, TableTime } from "./table-time.js";

/** The state of a schedule in this process, for a probe. */
export interface ScheduleHealth {
  /**
   * - `waiting`: the next instant is not due, or another process runs.
   * - `running`: a run goes on in this process.
   * - `stopped`: not started, or stopped.
   */
  readonly state: "waiting" | "running" | "stopped";
  /** The next instant, or that of the run. Undefined if none is left, or not known yet. */
  readonly next: Date | undefined;
  /** The last completed run on any process, as this process saw it last. */
  readonly lastSuccess: Date | undefined;
  /** The due instant of the last failure on any process, as this process saw it last, and its text. */
  readonly lastFailure: { readonly due: Date; readonly error: string } | undefined;
  /** The error that keeps this process from its work, until the table serves it again. */
  readonly trouble: unknown;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** After an error that an operator must correct. */
const ERROR_PAUSE_MS = 60_000;

// Two answers show a wrong clock, and a third one a wrong `Date`.
const MOST_LOOKS = 3;

type RunOf = Pick<Memory, "dueMs" | "attempt">;

const AT_ONCE: Pause = { afterMs: 0 };
const NEVER: Pause = {};

/**
 * A schedule in one process: see {@link schedule}. Every process with the same name and options shares the work. It starts
 * nothing before `start()`.
 */
export class ScheduledJob implements AsyncDisposable {
  readonly #place: Place;
  readonly #settings: ScheduleSettings;
  readonly #work: ScheduledWork;
  readonly #stopping = new AbortController();
  readonly #outage: OutageWatch;
  readonly #failing: FailingCall;
  readonly #time: TableTime;
  #serving: Promise<void> | undefined;
  /** The lease of a run in this process. */
  #current: HeldLease | undefined;
  #fromMs: number | undefined;
  #nextMs: number | undefined;
  #memory: Memory | undefined;
  #trouble: unknown;
  /** What the record shows, if this process has just written it. */
  #known: Sight | undefined;
  /** Whether a write was refused, so that an eventual read could show the same old state again. */
  #mustBeSure = false;
  #silence: Backoff | undefined;
  /** The pauses while the table serves the looks of this process, but not the write that begins a run. */
  #refusal: Backoff | undefined;
  /** When the first write that begins a run was sent since one was served. */
  #unservedSinceMs: number | undefined;
  #looks = 0;
  #wrongMs: number | undefined;
  /** The last run that this process saw alive in another one. */
  #alive: RunOf | undefined;
  /** The last run of which this process told how it ended. */
  #told: RunOf | undefined;

  /** @internal Made by {@link schedule}. */
  constructor(place: Place, settings: ScheduleSettings, work: ScheduledWork) {
    const onNoResponse = (unavailable: Unavailable): void => this.#onNoWrite(unavailable);
    this.#place = { ...place, settings: { ...place.settings, onNoResponse } };
    this.#settings = settings;
    this.#work = work;
    this.#outage = new OutageWatch(place.context);
    this.#failing = new FailingCall(place.context);
    this.#time = new TableTime(place.context);
  }

  /** The schedule's name. */
  get name(): string {
    return this.#place.ref.name;
  }

  /** The next instant, or that of the present run in this process. Undefined if none is left, or not known yet. */
  get next(): Date | undefined {
    return this.#nextMs === undefined ? undefined : dateAt(this.#nextMs);
  }

  /** @internal By how much the table's time is past {@link next}; negative before it. */
  get lateMs(): number | undefined {
    return this.#nextMs === undefined ? undefined : this.#time.nowMs() - this.#nextMs;
  }

  /**
   * Runs the work at each instant, until stopped or the client closes. The process stays alive. Idempotent. Throws `closed`,
   * also after `stop()`.
   */
  start(): void {
    if (this.#stopping.signal.aborted || this.#place.context.closing.aborted) {
      const message = `The schedule "${this.name}" was stopped, or its client was closed. Create a new schedule.`;
      throw new HoldfastError("closed", message, { lockName: this.name });
    }
    if (this.#serving !== undefined) return;
    const { context, running } = this.#place;
    const forget = onAbort(context.closing, () => this.#stopping.abort(this.#stopped()));
    const serving = this.#serve();
    // The client's `close()` waits for the run, as `stop()` does: another process may begin the next one as soon as the
    // record is free.
    const handle = { ended: serving, forsake: () => this.#current?.forsake() };
    running.add(handle);
    this.#serving = serving.finally(() => {
      running.delete(handle);
      forget();
    });
  }

  /**
   * Aborts the signal of a run in this process, waits until it has ended, and records its end: as failed, also if it ends
   * without an error, so that another process repeats it at once if `retries` allow. So a run must not await it; and one that
   * is the last must not call it, but end first: `setImmediate(() => job.stop())`. `close()` of the client does the same, and
   * waits for at most `closeTimeout`. Idempotent.
   */
  async stop(): Promise<void> {
    this.#stopping.abort(this.#stopped());
    await this.#serving;
  }

  /** Returns the state for a probe. Costs no request. */
  health(): ScheduleHealth {
    const { success, failure } = this.#memory ?? {};
    const isOn = this.#serving !== undefined && !this.#stopping.signal.aborted;
    return {
      state: this.#current !== undefined ? "running" : isOn ? "waiting" : "stopped",
      next: this.next,
      lastSuccess: success && dateAt(success.dueMs),
      lastFailure: failure && { due: dateAt(failure.dueMs), error: failure.error },
      trouble: this.#trouble,
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #serve(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let pause: Pause;
      try {
        pause = await this.#round();
      } catch (error) {
        if (signal.aborted) break;
        pause = { afterMs: this.#failed(error) };
      }
      if (pause === NEVER) break;
      await this.#time.sleep(pause, signal);
    }
    this.#outage.dispose();
    this.#nextMs = undefined;
  }

  /** Notes an error of the table. Returns the pause before the next attempt. */
  #failed(error: unknown): number {
    const { context } = this.#place;
    this.#mustBeSure = true;
    this.#trouble = error;
    // The watch has heard of an outage.
    const isOutage = isOutageError(error);
    if (!isOutage) this.#failing.onFailure(error);
    if (!isOutage && !(isHoldfastError(error) && context.mayHeal(error))) return ERROR_PAUSE_MS;
    // Without `catchUp`, an instant is lost within a minute: a longer first pause would lose it to a short refusal.
    this.#refusal ??= doubling(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    return this.#refusal(context.random.fraction());
  }

  // Other writes of this client, and the looks, may be served meanwhile, and would make each failure of this one news.
  #onNoWrite(unavailable: Unavailable): void {
    const { toldMs } = this.#place.context.outages;
    if (unavailable.kind === "denied") return;
    if (this.#unservedSinceMs === undefined || toldMs < this.#unservedSinceMs)
      this.#outage.onNoResponse(unavailable);
  }

  #pauseMs(): number {
    this.#silence ??= doubling(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    return this.#silence(this.#place.context.random.fraction());
  }

  /** Looks at the record once, and does what is due. */
  async #round(): Promise<Pause> {
    const shown = this.#known ?? (await look(this.#place, this.#mustBeSure));
    this.#known = undefined;
    if (!("seen" in shown)) {
      if (this.#stopping.signal.aborted) return NEVER;
      this.#outage.onNoResponse(shown);
      return { afterMs: this.#pauseMs() };
    }
    this.#outage.onResponse();
    this.#silence = undefined;
    // A served look does not show that the write is served, too: the trouble would flicker.
    if (this.#refusal === undefined) this.#trouble = undefined;
    this.#mustBeSure = false;
    this.#looks += 1;
    if (this.#time.isUnsure && this.#looks < MOST_LOOKS) return AT_ONCE;
    this.#looks = 0;
    const { seen } = shown;
    const nowMs = this.#time.nowMs();
    this.#fromMs ??= nowMs;
    const failure = interruptedIn(seen, nowMs) ?? seen.memory?.failure;
    this.#memory = seen.memory && { ...seen.memory, failure };
    // A record without an instant is that of a task of `once()`, whose occurrences are other text.
    const isNew = shown.onto !== undefined && seen.memory === undefined;
    if (isNew) return this.#remember(shown, nowMs);
    const now = { nowMs, errorMs: this.#time.errorMs, fromMs: this.#fromMs };
    const { step, wrongMs } = decideStep(seen, now, this.#settings.policy);
    this.#tellOfWrong(wrongMs);
    if (step.kind !== "run") this.#untroubled();
    switch (step.kind) {
      case "run":
        this.#nextMs = step.dueMs;
        return this.#run(shown, step);
      case "watch":
        this.#nextMs = step.atMs;
        this.#alive = seen.memory;
        return { atMs: step.atMs, afterMs: this.#watchMs(shown.overInMs) };
      case "look":
        this.#nextMs = step.atMs;
        // No run replaces it soon, and the next one may be a day away. A process that starts later is no witness.
        if (isSameRun(this.#alive, seen.memory)) this.#tellOfInterrupted(seen, nowMs);
        // Without a table, nothing but this object remembers the runs.
        if (this.#place.context.isUnlocked) this.#known = shown;
        return step.atMs === undefined ? NEVER : { atMs: step.atMs };
    }
  }

  /** Creates the record of a new schedule, so that no instant from now on is forgotten if all processes end. */
  async #remember(sight: Sight, nowMs: number): Promise<Pause> {
    const { policy, grant } = this.#settings;
    const memory: Memory = {
      ...{ dueMs: nowMs, isEnded: true, attempt: 0, by: grant.owner },
      ...{ begunMs: nowMs, rule: policy.rule.text, nextMs: policy.rule.next(nowMs) },
    };
    const lease = await this.#begin(sight, memory);
    if (lease === undefined) return this.#refused();
    if (await end(lease, memory)) this.#known = sightAfter(lease, memory);
    return AT_ONCE;
  }

  // A `Date` has whole seconds, and servers differ: the answer that shows the end can come seconds after the end.
  #watchMs(overInMs = Number.POSITIVE_INFINITY): number {
    const { context } = this.#place;
    return Math.max(overInMs, context.jittered(FIRST_PAUSE_MS));
  }

  /** Nothing keeps this process from its work: the write that begins a run was served, or none is due. */
  #untroubled(): void {
    this.#refusal = undefined;
    this.#trouble = undefined;
    this.#failing.onSuccess();
  }

  /** Another process was faster, or an eventual read was stale. */
  #refused(): Pause {
    this.#mustBeSure = true;
    const { context, settings } = this.#place;
    return { afterMs: context.jittered(settings.minPollMs) };
  }

  async #begin({ onto }: Sight, memory: Memory): Promise<HeldLease | undefined> {
    if (onto === undefined) return undefined;
    this.#unservedSinceMs ??= this.#place.context.nowMs();
    const lease = await begin(this.#place, onto, memory);
    this.#unservedSinceMs = undefined;
    this.#untroubled();
    return lease;
  }

  async #run(sight: Sight, step: RunOf): Promise<Pause> {
    const { context } = this.#place;
    const { policy, grant } = this.#settings;
    const { errorMs } = this.#time;
    const who = { nowMs: this.#time.nowMs(), errorMs, by: grant.owner };
    const begun = begunOf(step, sight.seen, who, policy);
    let lease: HeldLease | undefined;
    try {
      lease = await this.#begin(sight, begun);
    } catch (error) {
      // If the claim was written all the same, no later look shows the run that it replaced.
      this.#tellOfInterrupted(sight.seen, who.nowMs);
      throw error;
    }
    if (lease === undefined) return this.#refused();
    this.#tellOfInterrupted(sight.seen, who.nowMs);
    if (this.#stopping.signal.aborted) {
      // The record then shows a claim that was undone before its work began (rule 144), as one without an answer.
      await lease[Symbol.asyncDispose]();
      return NEVER;
    }
    this.#memory = begun;
    this.#current = lease;
    const startedMs = context.nowMs();
    this.#emit("start", begun, 0);
    const { ended, error } = await this.#execute(lease, begun);
    const memory = endedOf(begun, ended, this.#time.nowMs(), policy);
    this.#current = undefined;
    this.#memory = memory;
    // If its lease was lost, the record soon shows it as one that was cut off.
    this.#told = begun;
    const text = ended.kind === "failed" ? ended.error : undefined;
    this.#emit(ended.kind, begun, context.nowMs() - startedMs, text);
    if (ended.kind === "failed") this.#tellOfFailure(memory, error);
    await this.#end(lease, memory);
    return AT_ONCE;
  }

  /** Does the work under its lease. A run that has lost its lease has failed, even if the work was completed. */
  async #execute(lease: HeldLease, begun: Memory) {
    const next = new AbortController();
    const over = new AbortController();
    const { overlap, rule } = this.#settings.policy;
    // Of an instant that was caught up, or is retried, the next one may have passed already.
    const nextMs = rule.next(Math.max(begun.dueMs, begun.begunMs));
    if (overlap === "interrupt" && nextMs !== undefined) {
      void this.#time.sleep({ atMs: nextMs }, over.signal).then(() => {
        if (!over.signal.aborted) next.abort(interruptedByNext(this.name));
      });
    }
    // A signal composed of one that outlives the run would stay with it, with the listeners of the work.
    const stopped = new AbortController();
    const stopping = this.#stopping.signal;
    const forget = onAbort(stopping, () => stopped.abort(stopping.reason));
    const either = anySignal([stopped.signal, next.signal]);
    const result = await runToEnd(this.#work, lease, begun, either);
    forget();
    over.abort();
    if (!lease.isHeld) {
      const { reason } = lease.signal;
      const what = isHoldfastError(reason, "closed") ? "client closed" : "lease was lost";
      return {
        ended: { kind: "failed", error: `interrupted: its ${what}` } as const,
        error: reason,
      };
    }
    const how = { isFinal: next.signal.aborted, atOnce: stopped.signal.aborted };
    if (result.ended.kind === "failed") return { ...result, ended: { ...result.ended, ...how } };
    if (!either.aborted) return result;
    // Work that ends quietly at the abort has not done all, and `lastSuccess` would say that it has.
    const what = how.isFinal ? "next instant was due" : "schedule was stopped";
    const ended: Ended = { kind: "failed", error: `interrupted: its ${what}`, ...how };
    return { ended, error: either.reason as unknown };
  }

  async #end(lease: HeldLease, memory: Memory): Promise<void> {
    const { context } = this.#place;
    try {
      if (await end(lease, memory)) this.#known = sightAfter(lease, memory);
      else this.#mustBeSure = true;
    } catch (cause) {
      this.#mustBeSure = true;
      const message =
        `A run of schedule "${this.name}" for ${isoTimeOf(memory.dueMs)} has ended (${memory.outcome}), but DynamoDB did not ` +
        "acknowledge the write of this end. With `retries`, it may be run again.";
      context.report(new HoldfastError("outcome-unknown", message, { lockName: this.name, cause }));
    }
  }

  #emit(phase: ScheduleRunEvent["phase"], run: Memory, ranMs: number, error?: string): void {
    emitRun({ name: this.name, owner: this.#settings.grant.owner, phase }, run, ranMs, error);
  }

  #tellOfInterrupted(seen: Seen, nowMs: number): void {
    const { memory } = seen;
    const failure = interruptedIn(seen, nowMs);
    if (memory === undefined || failure === undefined) return;
    if (isSameRun(this.#told, memory)) return;
    this.#told = memory;
    this.#emit("interrupted", memory, Math.max(0, nowMs - memory.begunMs), failure.error);
  }

  #tellOfFailure({ dueMs, attempt, failure, retryAtMs }: Memory, cause: unknown): void {
    const again =
      retryAtMs === undefined
        ? "It is not run again for this instant."
        : `It is run again at ${isoTimeOf(retryAtMs)}.`;
    const message = `Run ${attempt} of schedule "${this.name}" for ${isoTimeOf(dueMs)} failed: ${asSentence(failure?.error ?? "")} ${again}`;
    this.#place.context.report(
      new HoldfastError("outcome-unknown", message, { lockName: this.name, cause }),
    );
  }

  #tellOfWrong(wrongMs: number | undefined): void {
    if (wrongMs === undefined || wrongMs === this.#wrongMs) return;
    this.#wrongMs = wrongMs;
    const message =
      `The record of schedule "${this.name}" names the instant ${isoTimeOf(wrongMs)}, which is not due yet: a process with a ` +
      "wrong clock began it. The next due instant replaces it. Correct the clock of that machine.";
    this.#place.context.report(
      new HoldfastError("misconfigured", message, { lockName: this.name }),
    );
  }

  #stopped(): HoldfastError {
    const message = `The run was stopped: the schedule "${this.name}" was stopped, or its client was closed.`;
    return new HoldfastError("closed", message, { lockName: this.name });
  }
}

function isSameRun(one: RunOf | undefined, other: RunOf | undefined): boolean {
  return one !== undefined && one.dueMs === other?.dueMs && one.attempt === other.attempt;
}

function interruptedByNext(name: string): HoldfastError {
  return new HoldfastError(
    "interrupted",
    `The run of schedule "${name}" was interrupted: its next instant is due.`,
    { lockName: name },
  );
}
