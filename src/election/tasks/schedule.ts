import { HoldfastError } from "../../errors.js";
import { sleep } from "../../internal/sleep.js";
import type { Candidate } from "../candidate.js";
import type { TaskRunEvent } from "../events.js";
import { Run } from "../run.js";
import type { Term } from "../term.js";
import type { TaskSettings } from "./task.js";

/** How one worker does, for a probe. */
export interface TaskHealth {
  readonly name: string;
  readonly isRunning: boolean;
  /** Whether its run goes on although it was told to end. */
  readonly isWedged: boolean;
  /** Whether its next run is overdue by two intervals or more. */
  readonly isOverdue: boolean;
  /** For how long, in milliseconds, its last run in this process has been under way or over. */
  readonly sinceLastStartMs: number | undefined;
}

/** By how many intervals a run that has not begun is overdue. */
const OVERDUE_INTERVALS = 2;

/** One worker of one process: its runs, one after another, over all the terms of the candidate. */
export class Schedule {
  readonly #candidate: Candidate;
  readonly #worker: TaskSettings;
  readonly #stopBeforeMs: number;
  #run: Run | undefined;
  #lastStartMs: number | undefined;
  #overdueAtMs = Number.POSITIVE_INFINITY;

  constructor(candidate: Candidate, worker: TaskSettings, stopBeforeMs: number) {
    this.#candidate = candidate;
    this.#worker = worker;
    this.#stopBeforeMs = stopBeforeMs;
  }

  /** Runs at every interval of a term, until it has to end and the last run has; never rejects. */
  async serve(term: Term, signal: AbortSignal): Promise<void> {
    const { context } = this.#candidate;
    const { everyMs, jitterMs, runAtStart } = this.#worker;
    let baseMs = context.nowMs() + (runAtStart ? 0 : everyMs);
    while (!signal.aborted) {
      const dueMs = baseMs + jitterMs * context.random.fraction();
      const calm = this.#watchOverdue(term, dueMs);
      await this.#until(term, dueMs, signal);
      calm();
      if (signal.aborted) break;
      await this.#tick(term, context.nowMs() - dueMs);
      const missed = Math.floor((context.nowMs() - baseMs) / everyMs);
      const nextMs = baseMs + Math.max(1, missed) * everyMs;
      baseMs = nextMs < context.nowMs() ? nextMs + everyMs : nextMs;
    }
    this.#overdueAtMs = Number.POSITIVE_INFINITY;
  }

  health(): TaskHealth {
    const nowMs = this.#candidate.context.nowMs();
    return {
      name: this.#worker.name,
      isRunning: this.#run !== undefined,
      isWedged: this.#run?.isWedged === true,
      isOverdue: nowMs >= this.#overdueAtMs,
      sinceLastStartMs: this.#lastStartMs === undefined ? undefined : nowMs - this.#lastStartMs,
    };
  }

  /** Waits for the due instant, and longer where the lease is about to run out unrenewed. */
  async #until(term: Term, dueMs: number, signal: AbortSignal): Promise<void> {
    const { context } = this.#candidate;
    await context.sleep(dueMs - context.nowMs(), signal);
    while (!signal.aborted && term.remainingMs() <= this.#stopBeforeMs) {
      await context.sleep(Math.max(1, this.#stopBeforeMs / 10), signal);
    }
  }

  async #tick(term: Term, lateMs: number): Promise<void> {
    const { context } = this.#candidate;
    const run = new Run(context, this.#worker, term, this.#stopBeforeMs, () => {
      this.#tell(term, "wedged", lateMs, run.ranMs);
    });
    this.#run = run;
    this.#lastStartMs = run.startedMs;
    this.#tell(term, "start", lateMs, 0);
    // The next one is due an interval after this one was.
    const calm = this.#watchOverdue(term, context.nowMs() - lateMs + this.#worker.everyMs);
    const { failure } = await run.toEnd();
    calm();
    this.#run = undefined;
    this.#tell(term, failure === undefined ? "end" : "error", lateMs, run.ranMs, failure?.error);
    if (failure !== undefined) this.#failed(term, failure.error);
  }

  #failed(term: Term, cause: unknown): void {
    const { name } = this.#worker;
    const what = cause instanceof Error ? cause.message : String(cause);
    const message = `LeaderTask "${name}" of "${term.name}" failed: ${what}`;
    this.#candidate.report(
      new HoldfastError("outcome-unknown", message, { lockName: term.name, cause }),
    );
    if (this.#worker.resignOnError) term.end(`its worker "${name}" failed`);
  }

  /** Tells once if nothing has begun two intervals after `dueMs`; answers what calls that off. */
  #watchOverdue(term: Term, dueMs: number): () => void {
    const { context } = this.#candidate;
    const overdueAtMs = dueMs + OVERDUE_INTERVALS * this.#worker.everyMs;
    this.#overdueAtMs = overdueAtMs;
    const bound = new AbortController();
    void sleep(context.timers, overdueAtMs - context.nowMs(), false, bound.signal).then(() => {
      if (!bound.signal.aborted) this.#tell(term, "overdue", context.nowMs() - dueMs, 0);
    });
    return () => bound.abort();
  }

  #tell(
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
