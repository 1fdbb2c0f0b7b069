import type { AcquireContext } from "../core/acquire/context.js";
import type { HeldLease, Lease } from "../core/hold/lease.js";
import { LossSignal } from "../core/hold/loss-signal.js";
import { HoldfastError } from "../errors.js";
import { onAbort } from "../platform/abort.js";
import type { Timer } from "../platform/timers.js";
import { isConsequence } from "./lead.js";
import type { DueRun, TaskSettings } from "./tasks/task.js";
import type { Term } from "./term.js";

/** How a run ended. */
export interface Ended {
  /** The error of the run; undefined if there is no error, or if the error only repeats the signal's reason. */
  readonly failure: { readonly error: unknown } | undefined;
  /** The reason of the signal, if it aborted and the run has no error of its own. */
  readonly cutOffBy?: Error | undefined;
}

/**
 * One run of a task.
 *
 * Every check asks the clocks whether the run must end; a timer aborts the signal too: at the end of the term, shortly
 * before the deadline of a lease without renewal, and at the run's own timeout. Code cannot be ended by force: a run
 * that continues after the abort is wedged.
 */
export class Run {
  readonly startedMs: number;
  readonly #context: AcquireContext;
  readonly #worker: TaskSettings;
  readonly #term: Term;
  readonly #stopBeforeMs: number;
  readonly #onWedged: () => void;
  readonly #due: DueRun | undefined;
  readonly #signal = new LossSignal(() => this.#check());
  #abortedAtMs: number | undefined;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(
    context: AcquireContext,
    worker: TaskSettings,
    term: Term,
    stopBeforeMs: number,
    due: DueRun | undefined,
    onWedged: () => void,
  ) {
    this.#context = context;
    this.#worker = worker;
    this.#term = term;
    this.#stopBeforeMs = stopBeforeMs;
    this.#due = due;
    this.#onWedged = onWedged;
    this.startedMs = context.nowMs();
  }

  /** Milliseconds since the run began. */
  get ranMs(): number {
    return this.#context.nowMs() - this.startedMs;
  }

  /** Whether the run has continued after the abort for longer than `stopBefore`. */
  get isWedged(): boolean {
    this.#check();
    if (this.#isOver || this.#abortedAtMs === undefined) return false;
    return this.#context.nowMs() - this.#abortedAtMs >= this.#stopBeforeMs;
  }

  /** Executes the run to its end; never rejects. */
  async toEnd(): Promise<Ended> {
    const { signal } = this.#signal;
    const ends = [this.#term.signal, this.#due?.signal];
    const forgets = ends.map((end) => onAbort(end, () => this.#check()));
    this.#watch();
    try {
      await this.#worker.run({
        name: this.#worker.name,
        signal,
        term: this.#term as HeldLease as unknown as Lease,
        due: this.#due?.due,
        attempt: this.#due?.attempt ?? 1,
        lastSuccess: this.#due?.lastSuccess,
      });
      return { failure: undefined, cutOffBy: this.#cutOffBy };
    } catch (error) {
      const cutOffBy = this.#cutOffBy;
      return cutOffBy !== undefined && isConsequence(error, signal)
        ? { failure: undefined, cutOffBy }
        : { failure: { error } };
    } finally {
      this.#isOver = true;
      this.#timer?.cancel();
      for (const forget of forgets) forget();
    }
  }

  get #cutOffBy(): Error | undefined {
    return this.#abortedAtMs === undefined ? undefined : this.#signal.reason;
  }

  #check(): void {
    if (this.#isOver || this.#abortedAtMs !== undefined) return;
    const reason = this.#reason();
    if (reason === undefined) return;
    this.#abortedAtMs = this.#context.nowMs();
    this.#signal.abort(reason);
    this.#timer?.cancel();
    this.#timer = this.#context.timers.set(this.#stopBeforeMs, false, () => {
      if (!this.#isOver) this.#onWedged();
    });
  }

  #reason(): Error | undefined {
    const { name } = this.#worker;
    const stopped = [this.#term.signal, this.#due?.signal].find((one) => one?.aborted === true);
    if (stopped !== undefined) return stopped.reason as Error;
    if (this.ranMs >= this.#worker.timeoutMs) {
      const message = `Task "${name}" exceeded its timeout of ${this.#worker.timeoutMs} ms.`;
      return new DOMException(message, "TimeoutError");
    }
    if (this.#term.remainingMs() > this.#stopBeforeMs) return undefined;
    if (this.#term.hold.living.deadline.remainingMs() > this.#stopBeforeMs) {
      return new HoldfastError(
        "lost",
        `Task "${name}" must end: the term of "${this.#term.name}" has lasted for almost as long as \`maxHold\` allows.`,
        { lockName: this.#term.name, reason: "held-too-long" },
      );
    }
    return new HoldfastError(
      "unreachable",
      `Task "${name}" must end: the lease of "${this.#term.name}" is about to expire, because DynamoDB ` +
        "does not answer renewals. The task runs again after the next acknowledged renewal.",
      { lockName: this.#term.name },
    );
  }

  /** Checks again at the earliest possible end; each renewal moves the end of the lease. */
  #watch(): void {
    if (this.#isOver || this.#abortedAtMs !== undefined) return;
    const leaseMs = this.#term.remainingMs() - this.#stopBeforeMs;
    const nextMs = Math.max(1, Math.min(leaseMs, this.#worker.timeoutMs - this.ranMs));
    this.#timer = this.#context.timers.set(nextMs, false, () => {
      this.#check();
      this.#watch();
    });
  }
}
