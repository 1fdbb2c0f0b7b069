import { Abort } from "../../platform/abort.js";
import { earlierBy, elapsedMsSince, instantOf } from "../../platform/clock.js";
import type { ClientContext } from "../context.js";
import { emitRenewal } from "../events.js";
import { actingMs, Deadline } from "../hold/deadline.js";
import type { Hold } from "../hold/hold.js";
import type { KeepAlive } from "../hold/keep-alive.js";
import { renewNow } from "../hold/writes.js";
import type { Kept } from "../scheduler.js";
import { isTooSilent, SharedState, stampEveryMs } from "./shared-state.js";
import { neverRenewed, threadFailed } from "./thread-errors.js";
import type { FromThread, RenewalThread, ThreadSettings } from "./thread-messages.js";

const LONGEST_PAUSE_MS = 600_000;
// Far more than a thread needs to load the SDK and to read a record.
const MOST_START_MS = 10_000;

/**
 * Keeps the hold of a session alive by a worker thread, also while the event loop of this thread is blocked. The hold
 * no longer renews itself, and its deadline is the thread's deadline.
 *
 * This thread stamps the shared state from its event loop, and reads the deadline in the shared state at every check.
 * If the thread fails or is silent, this thread renews again, reports the failure, and starts another thread after a
 * pause.
 */
export class ThreadKeepAlive implements KeepAlive<Hold>, Kept {
  readonly #hold: Hold;
  readonly #context: ClientContext;
  readonly #settings: ThreadSettings;
  readonly #renewMs: number;
  /** Aborts when the hold has ended. */
  readonly #over = new Abort();
  #state = new SharedState();
  #thread: RenewalThread | undefined;
  #isOpen = false;
  #failures = 0;
  /** Why DynamoDB has not acknowledged the thread's last renewal, as text for a message. */
  #trouble = "";
  #isReported = false;
  /** The number of the last deadline that the renewal schedule of the hold knows. */
  #known = 0;
  #startedMs = 0;
  /** Settles the callers that wait for a renewal, or for the first thread. */
  readonly #waiting = new Set<() => void>();

  constructor(hold: Hold, settings: ThreadSettings) {
    this.#hold = hold;
    this.#context = hold.context;
    this.#settings = settings;
    const { renewMs } = hold.settings;
    if (renewMs === "manual") throw new Error("A thread does not renew by hand.");
    this.#renewMs = renewMs;
    hold.lossSignal.signal.addEventListener("abort", () => this.ended());
    this.#context.inBackground(() => this.#start());
  }

  get id(): string {
    return this.#hold.ref.name;
  }

  get leaseMs(): number {
    return this.#hold.leaseMs;
  }

  /** The deadline, from the shared state at every call. */
  get deadline(): Deadline {
    // The clocks of this thread are read first, so this deadline is never later than the shared one.
    const start = instantOf(this.#context.clock);
    return new Deadline(this.#context.clock, start, this.#state.remainingMs(this.#settings.clock));
  }

  get isHeld(): boolean {
    return this.#hold.isHeld;
  }

  /** Ends the hold if the thread has learnt of a loss. */
  check(): void {
    this.#noteRenewals();
    const { loss } = this.#state;
    if (loss !== undefined) this.#hold.end(loss);
  }

  /** Resolves when the thread renews, when it has failed to start, or after `timeoutMs`. */
  async ready(timeoutMs: number): Promise<void> {
    if (this.#isOpen || this.#failures > 0 || this.#over.aborted) return;
    await this.#nextEvent(timeoutMs);
  }

  /** Lets the thread renew now. Without the thread, this thread renews. */
  async renewNow(): Promise<void> {
    const { published } = this.#state;
    this.#thread?.post({ kind: "renew" });
    while (this.#isOpen && this.isHeld && this.#state.published === published) {
      await this.#nextEvent(this.#renewMs);
    }
    if (!this.#isOpen && this.isHeld) await renewNow(this.#hold);
  }

  /**
   * Called when the session accepts no further lease. A thread that renews stays until the hold ends. Ends any other.
   */
  finish(): void {
    if (!this.#isOpen) this.ended();
  }

  /** The hold has ended: from now on the thread sends no renewal. Idempotent. */
  ended(): void {
    if (this.#over.aborted) return;
    this.#state.end("closed");
    this.#over.abort();
    this.#context.scheduler.forget(this);
    this.#isOpen = false;
    this.#thread?.end();
    this.#thread = undefined;
    this.#settle();
  }

  /**
   * Stamps the shared state, ends the hold at the deadline, and takes the renewals back from a silent thread. While no
   * thread runs, starts a thread. The scheduler calls this.
   */
  tend(): number | undefined {
    const { clock, mayBlockMs } = this.#settings;
    if (!this.#hold.isHeld) {
      this.ended();
      return undefined;
    }
    if (this.#thread === undefined) {
      this.#context.inBackground(() => this.#start());
      return undefined;
    }
    // While the stamp was too old, the thread sent no renewal. The new stamp lets the thread renew again.
    const wasBlocked = this.#state.stampAgeMs(clock) >= mayBlockMs;
    this.#state.stamp(instantOf(clock));
    if (!this.#isOpen && !wasBlocked && this.#context.nowMs() - this.#startedMs > MOST_START_MS) {
      this.#failed(new Error("The thread has not started in time."));
      return undefined;
    }
    if (this.#isOpen && !wasBlocked && isTooSilent(this.#state, this.#renewMs, clock)) {
      this.#failed(new Error(`The thread has not renewed the session in time${this.#trouble}.`));
      return undefined;
    }
    const nextMs = this.#context.nowMs() + stampEveryMs(mayBlockMs);
    return Math.min(this.#hold.deadline.atMonotonicMs, nextMs);
  }

  async #start(): Promise<void> {
    if (this.#over.aborted) return;
    const state = new SharedState();
    state.stamp(instantOf(this.#settings.clock));
    this.#state = state;
    this.#known = 0;
    this.#startedMs = this.#context.nowMs();
    const { mayBlockMs } = this.#settings;
    const { settings, tableClock } = this.#context;
    const knowsTableTime = tableClock.endOf(0) !== undefined;
    const session = this.id;
    const start = { buffer: state.buffer, mayBlockMs, session, settings, knowsTableTime };
    // An earlier thread may still report.
    const isCurrent = (): boolean => this.#state === state && !this.#over.aborted;
    try {
      const thread = await this.#settings.start(start, {
        onMessage: (message) => {
          if (isCurrent()) this.#onMessage(message);
          else if (this.#state === state) this.#onLateMessage(message);
        },
        onFailure: (cause) => {
          if (isCurrent()) this.#failed(cause);
        },
      });
      if (!isCurrent() || state.phase !== "waiting") return thread.end();
      this.#thread = thread;
      this.#context.scheduler.visit(this, this.#context.nowMs());
    } catch (cause) {
      if (isCurrent()) this.#failed(cause);
    }
  }

  #onMessage(message: FromThread): void {
    if (message.kind === "ready") this.#context.inBackground(() => this.#handOver(this.#state));
    else if (message.kind === "failed") this.#failed(new Error(message.message));
    else if (message.kind === "ahead-date") this.#context.onAheadDate(message.ahead);
    else {
      this.#noteRenewals();
      this.#emit(message);
      this.#trouble = message.record === undefined ? message.trouble : "";
      if (message.record !== undefined) this.#failures = 0;
      this.#hold.settings.onRenewal?.(message.record);
      this.#settle();
    }
  }

  /** Reports why the thread could not renew in a block, if the message arrives after the loss was found. */
  #onLateMessage(message: FromThread): void {
    if (message.kind !== "renewal" || message.trouble === "" || this.#isReported) return;
    if (this.#hold.loss?.reason !== "expired") return;
    this.#isReported = true;
    this.#context.report(neverRenewed(this.id, message.trouble));
  }

  /** Gives the renewals to the thread, after any renewal of this thread in flight. */
  async #handOver(state: SharedState): Promise<void> {
    const { clock } = this.#settings;
    const hold = this.#hold;
    await hold.requests.run(async () => {
      if (state !== this.#state || this.#thread === undefined || !hold.isHeld) return;
      // The shared clocks are read first, so the thread's deadline is never later than the hold's.
      const start = instantOf(clock);
      const lease = {
        start,
        lengthMs: Math.min(hold.remainingMs(), actingMs(this.#context, this.leaseMs)),
      };
      state.publish(lease);
      state.stamp(start);
      if (!state.open()) return;
      const { version } = hold.exactRenewal(this.leaseMs);
      this.#thread.post({
        kind: "begin",
        assignment: {
          ...{ session: this.id, held: hold.held, version, lease, leaseMs: this.leaseMs },
          ...{ renewMs: this.#renewMs, owner: hold.settings.owner },
        },
      });
      this.#known = state.published;
      this.#isOpen = true;
      hold.living.mayMoveTo(this);
      hold.moved();
    });
    this.#settle();
  }

  /** Takes the renewals back, reports the failure, and plans another thread. */
  #failed(cause: unknown): void {
    const state = this.#state;
    this.check();
    if (this.#over.aborted || !state.end("taken-back")) return;
    this.#thread?.end();
    this.#thread = undefined;
    if (this.#isOpen) {
      this.#isOpen = false;
      this.#hold.living.movedBack(this.deadline);
      this.#hold.times.putOff(0);
      this.#context.scheduler.visit(this.#hold, this.#context.nowMs());
    }
    this.#failures += 1;
    const pauseMs = Math.min(this.leaseMs * 2 ** (this.#failures - 1), LONGEST_PAUSE_MS);
    this.#context.scheduler.visit(this, this.#context.nowMs() + pauseMs);
    this.#context.report(threadFailed(this.id, cause));
    this.#settle();
  }

  /** Tells the renewal schedule of the hold about the thread's renewals, for the message of a later loss. */
  #noteRenewals(): void {
    const { published } = this.#state;
    if (!this.#isOpen || published === this.#known) return;
    this.#known = published;
    const elapsedMs = elapsedMsSince(this.#state.deadline.start, this.#settings.clock);
    this.#hold.times.renewed(earlierBy(elapsedMs, instantOf(this.#context.clock)));
  }

  #emit({ record, durationMs, stampAgeMs }: Extract<FromThread, { kind: "renewal" }>): void {
    const now = instantOf(this.#context.clock);
    const start = { ...now, monotonicMs: now.monotonicMs - durationMs };
    emitRenewal(this.#hold, record !== undefined, 0, start, stampAgeMs);
  }

  /** Waits for a message or a failure of the thread, for the end of the hold, or for `timeoutMs`. */
  #nextEvent(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        this.#waiting.delete(done);
        resolve();
      };
      const timer = this.#context.timers.set(timeoutMs, true, done);
      this.#waiting.add(done);
    });
  }

  #settle(): void {
    for (const done of [...this.#waiting]) done();
  }

  // A thread keeps only the hold of a session alive. This hold never moves, and has no other record to free.
  async adopt(): Promise<void> {}
  keep(): void {}
  sweep(): void {}
  untilAnswered(): void {}
}
