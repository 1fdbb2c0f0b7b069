import type { AcquireContext } from "../core/acquire/context.js";
import { LossSignal } from "../core/hold/loss-signal.js";
import { HoldfastError } from "../errors.js";
import type { Timer } from "../platform/timers.js";
import { isConsequence } from "./lead.js";
import type { TaskSettings } from "./tasks/task.js";
import type { Term } from "./term.js";

/** How a run ended. */
export interface Ended {
  /** What it rejected with; undefined where it did not, or by having been told to end. */
  readonly failure: { readonly error: unknown } | undefined;
}

/**
 * One run of a worker. Whether it has to end is asked of the clocks at every question, and told by timer:
 * at the end of its term, a while before the deadline of a lease that nobody renews, at its own timeout.
 * It cannot be made to end. One that goes on although it was told to is wedged.
 */
export class Run {
  readonly startedMs: number;
  readonly #context: AcquireContext;
  readonly #worker: TaskSettings;
  readonly #term: Term;
  readonly #stopBeforeMs: number;
  readonly #onWedged: () => void;
  readonly #signal = new LossSignal(() => this.#check());
  #toldMs: number | undefined;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(
    context: AcquireContext,
    worker: TaskSettings,
    term: Term,
    stopBeforeMs: number,
    onWedged: () => void,
  ) {
    this.#context = context;
    this.#worker = worker;
    this.#term = term;
    this.#stopBeforeMs = stopBeforeMs;
    this.#onWedged = onWedged;
    this.startedMs = context.nowMs();
  }

  /** Milliseconds since it began. */
  get ranMs(): number {
    return this.#context.nowMs() - this.startedMs;
  }

  /** Whether it goes on although it was told to end, longer than it may take for that. */
  get isWedged(): boolean {
    this.#check();
    if (this.#isOver || this.#toldMs === undefined) return false;
    return this.#context.nowMs() - this.#toldMs >= this.#stopBeforeMs;
  }

  /** Runs it to its end; never rejects. */
  async toEnd(): Promise<Ended> {
    const { signal } = this.#signal;
    const termSignal = this.#term.signal;
    const follow = (): void => this.#check();
    termSignal.addEventListener("abort", follow, { once: true });
    this.#watch();
    try {
      await this.#worker.run(signal, this.#term);
      return { failure: undefined };
    } catch (error) {
      const isTold = this.#toldMs !== undefined;
      return { failure: isTold && isConsequence(error, signal) ? undefined : { error } };
    } finally {
      this.#isOver = true;
      this.#timer?.cancel();
      termSignal.removeEventListener("abort", follow);
    }
  }

  #check(): void {
    if (this.#isOver || this.#toldMs !== undefined) return;
    const reason = this.#reason();
    if (reason === undefined) return;
    this.#toldMs = this.#context.nowMs();
    this.#signal.abort(reason);
    this.#timer?.cancel();
    this.#timer = this.#context.timers.set(this.#stopBeforeMs, false, () => {
      if (!this.#isOver) this.#onWedged();
    });
  }

  #reason(): Error | undefined {
    const { name } = this.#worker;
    if (this.#term.signal.aborted) return this.#term.signal.reason as Error;
    if (this.ranMs >= this.#worker.timeoutMs) {
      const message = `LeaderTask "${name}" has run for its timeout of ${this.#worker.timeoutMs} ms.`;
      return new DOMException(message, "TimeoutError");
    }
    if (this.#term.remainingMs() > this.#stopBeforeMs) return undefined;
    return new HoldfastError(
      "unreachable",
      `LeaderTask "${name}" has to end: the lease of "${this.#term.name}" runs out, and nobody answers its ` +
        "renewals. It runs again as soon as one is answered.",
      { lockName: this.#term.name },
    );
  }

  /** Looks again when the first of them could be due; each renewal puts one of them off. */
  #watch(): void {
    if (this.#isOver || this.#toldMs !== undefined) return;
    const leaseMs = this.#term.remainingMs() - this.#stopBeforeMs;
    const nextMs = Math.max(1, Math.min(leaseMs, this.#worker.timeoutMs - this.ranMs));
    this.#timer = this.#context.timers.set(nextMs, false, () => {
      this.#check();
      this.#watch();
    });
  }
}
