import { HoldfastError } from "../../errors.js";
import { sleep } from "../../internal/sleep.js";
import { valueText } from "../../internal/value-text.js";
import { untilAbort } from "../../platform/abort.js";
import type { Candidate } from "../candidate.js";
import type { TaskRunEvent } from "../events.js";
import { type Ended, Run } from "../run.js";
import type { Term } from "../term.js";
import type { DueRun, RemembersRuns, TaskSettings } from "./task.js";

/** The state of one task, for a probe. */
export interface TaskHealth {
  readonly name: string;
  readonly isRunning: boolean;
  /** Whether its run continues after the signal aborted. */
  readonly isWedged: boolean;
  /** Whether the next run is overdue by two intervals or more. */
  readonly isOverdue: boolean;
  /** Milliseconds since the last run in this process began. */
  readonly sinceLastStartMs: number | undefined;
}

/** After this many intervals a run that has not begun is overdue. */
const OVERDUE_INTERVALS = 2;

/** One task of one process: its runs in sequence, over all terms of the candidate. */
export class Schedule {
  readonly #candidate: Candidate;
  readonly #worker: TaskSettings;
  readonly #stopBeforeMs: number;
  #run: Run | undefined;
  #lastStartMs: number | undefined;
  #overdueAtMs = Number.POSITIVE_INFINITY;
  /** The job of the present term, of a task that remembers its runs. */
  #job: ReturnType<RemembersRuns["jobOf"]> | undefined;

  constructor(candidate: Candidate, worker: TaskSettings, stopBeforeMs: number) {
    this.#candidate = candidate;
    this.#worker = worker;
    this.#stopBeforeMs = stopBeforeMs;
    // Throws now for a name or a format that has no such memory.
    this.#jobOf(async () => undefined);
  }

  #jobOf(run: (due: DueRun) => Promise<void>) {
    const { context, running, settings, ref } = this.#candidate;
    const { memory, name, everyMs } = this.#worker;
    const parts = { context, running, defaultOwner: settings.grant.owner };
    return memory?.jobOf(parts, { name: `${ref.name}/${name}`, everyMs }, run);
  }

  /** Runs the task at every interval of a term, until the term and the last run have ended; never rejects. */
  async serve(term: Term): Promise<void> {
    const { context } = this.#candidate;
    const { signal } = term;
    const { everyMs, jitterMs, runAtStart, memory } = this.#worker;
    if (memory !== undefined) return this.#serveByMemory(term);
    let baseMs = context.nowMs() + (runAtStart ? 0 : everyMs);
    while (!signal.aborted) {
      const dueMs = baseMs + jitterMs * context.random.fraction();
      const cancelOverdue = this.#watchOverdue(term, dueMs);
      await context.sleep(dueMs - context.nowMs(), signal);
      await this.#untilRenewed(term, signal);
      cancelOverdue();
      if (signal.aborted) break;
      await this.#tick(term, context.nowMs() - dueMs);
      const missed = Math.floor((context.nowMs() - baseMs) / everyMs);
      const nextMs = baseMs + Math.max(1, missed) * everyMs;
      baseMs = nextMs < context.nowMs() ? nextMs + everyMs : nextMs;
    }
    this.#overdueAtMs = Number.POSITIVE_INFINITY;
  }

  /** Runs the task when its memory says so, until the term and the last run have ended; never rejects. */
  async #serveByMemory(term: Term): Promise<void> {
    const { signal } = term;
    const job = this.#jobOf((due) => this.#runDue(term, due));
    const { context } = this.#candidate;
    if (job === undefined || signal.aborted || context.closing.aborted) return;
    this.#job = job;
    job.start();
    await untilAbort(signal);
    await job.stop();
    this.#job = undefined;
  }

  /** One run that is due. Rejects if it has failed, or was cut off, so that it is repeated. */
  async #runDue(term: Term, due: DueRun): Promise<void> {
    await this.#untilRenewed(term, due.signal);
    due.signal.throwIfAborted();
    const lateMs = Math.max(0, this.#job?.lateMs ?? 0);
    const { failure, cutOffBy } = await this.#tick(term, lateMs, due);
    if (failure !== undefined) throw failure.error;
    if (cutOffBy !== undefined) throw cutOffBy;
  }

  health(): TaskHealth {
    const nowMs = this.#candidate.context.nowMs();
    // During a run, the job tells of the instant of this run, which has begun.
    const lateMs = (this.#run === undefined ? this.#job?.lateMs : undefined) ?? 0;
    return {
      name: this.#worker.name,
      isRunning: this.#run !== undefined,
      isWedged: this.#run?.isWedged === true,
      isOverdue: nowMs >= this.#overdueAtMs || lateMs >= OVERDUE_INTERVALS * this.#worker.everyMs,
      sinceLastStartMs: this.#lastStartMs === undefined ? undefined : nowMs - this.#lastStartMs,
    };
  }

  /** Waits while the lease is about to expire without a renewal; else not even for a timer. */
  async #untilRenewed(term: Term, signal: AbortSignal): Promise<void> {
    const { context } = this.#candidate;
    while (!signal.aborted && term.remainingMs() <= this.#stopBeforeMs) {
      await context.sleep(Math.max(1, this.#stopBeforeMs / 10), signal);
    }
  }

  async #tick(term: Term, lateMs: number, due?: DueRun): Promise<Ended> {
    const { context } = this.#candidate;
    const run = new Run(context, this.#worker, term, this.#stopBeforeMs, due, () => {
      this.#emit(term, "wedged", lateMs, run.ranMs);
    });
    this.#run = run;
    this.#lastStartMs = run.startedMs;
    this.#emit(term, "start", lateMs, 0);
    // The next run is due an interval after this run was due.
    const nextMs = context.nowMs() - lateMs + this.#worker.everyMs;
    const cancelOverdue = this.#watchOverdue(term, nextMs);
    const ended = await run.toEnd();
    const { failure } = ended;
    cancelOverdue();
    // From now on the memory says when the next run is due.
    if (due !== undefined) this.#overdueAtMs = Number.POSITIVE_INFINITY;
    this.#run = undefined;
    this.#emit(term, failure === undefined ? "end" : "error", lateMs, run.ranMs, failure?.error);
    if (failure !== undefined) this.#failed(term, failure.error, due !== undefined);
    return ended;
  }

  #failed(term: Term, cause: unknown, isRemembered: boolean): void {
    const { name, resignOnError } = this.#worker;
    // A schedule itself reports a failed run.
    if (!isRemembered) this.#report(term, cause);
    if (!resignOnError) return;
    const resign = (): void => term.end(`its task "${name}" failed`);
    // The end of the term stops the schedule: during the run, the next leader would repeat it without a pause.
    if (isRemembered) this.#candidate.context.timers.set(0, true, resign);
    else resign();
  }

  #report(term: Term, cause: unknown): void {
    const { name } = this.#worker;
    const what = cause instanceof Error ? cause.message : valueText(cause);
    const message = `Task "${name}" of the leader of "${term.name}" failed: ${what}`;
    this.#candidate.report(
      new HoldfastError("outcome-unknown", message, { lockName: term.name, cause }),
    );
  }

  /** Publishes `overdue` once if no run has begun two intervals after `dueMs`. Returns a function that cancels this. */
  #watchOverdue(term: Term, dueMs: number): () => void {
    const { context } = this.#candidate;
    const overdueAtMs = dueMs + OVERDUE_INTERVALS * this.#worker.everyMs;
    this.#overdueAtMs = overdueAtMs;
    const bound = new AbortController();
    void sleep(context.timers, overdueAtMs - context.nowMs(), false, bound.signal).then(() => {
      if (!bound.signal.aborted) this.#emit(term, "overdue", context.nowMs() - dueMs, 0);
    });
    return () => bound.abort();
  }

  #emit(
    term: Term,
    phase: TaskRunEvent["phase"],
    lateMs: number,
    ranMs: number,
    error?: unknown,
  ): void {
    const { name } = this.#worker;
    this.#candidate.monitor.tick(() => {
      return { worker: name, term: term.fence, phase, lateMs, ranMs, error };
    });
  }
}
