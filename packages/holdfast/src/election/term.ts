import { HeldLease } from "../core/hold/lease.js";
import { RELEASE_NAMES, type ReleaseOptions } from "../core/hold/writes.js";
import { HoldfastError } from "../errors.js";
import { checkNames } from "../internal/option-names.js";
import { onAbort } from "../platform/abort.js";
import type { Monitor } from "./events.js";

/**
 * The lease of a leader: one candidate's time as leader. Its signal aborts also when the leader resigns, is asked to
 * resign, or closes its client; its release resigns, after the body has ended.
 */
export class Term extends HeldLease {
  readonly #monitor: Monitor;
  readonly #onOver: () => void;
  #body: Promise<unknown> | undefined;
  #resigning: Promise<void> | undefined;
  #isOver = false;

  /** Makes the term of an elected candidate: its handle replaces that of the grant. */
  constructor(granted: HeldLease, monitor: Monitor, onOver: () => void) {
    const { hold } = granted;
    super(hold);
    hold.context.finalization.unwatch(granted);
    this.#monitor = monitor;
    this.#onOver = onOver;
  }

  /** Publishes the election, and from now on the end: its listeners may already use the term. */
  begin(gapMs: number | undefined): void {
    this.#monitor.transition("elected", this.fence, { gapMs });
    // Until its loss a term is known to its candidate, and so never forgotten.
    onAbort(this.hold.lossSignal.give(), () => this.#lost());
  }

  /** Whether this candidate leads now, by the clocks, and is not resigning. */
  get isLeading(): boolean {
    return this.isHeld && !this.signal.aborted;
  }

  /** Whether the term was released or lost. */
  get isOver(): boolean {
    this.hold.check();
    return this.#isOver;
  }

  /** Aborts the term's signal. */
  end(why: string): void {
    if (this.signal.aborted) return;
    const message = `The term of "${this.name}" ends: ${why}. Stop the protected work.`;
    this.hold.signal.abort(new HoldfastError("resigned", message, { lockName: this.name }));
  }

  /** Delays the release until this body has ended, whether it succeeds or fails. */
  occupy(body: Promise<unknown>): void {
    this.#body = body.catch(() => undefined);
  }

  override release(options: ReleaseOptions = {}): Promise<void> {
    checkNames("release()", options, RELEASE_NAMES);
    this.#resigning ??= this.#resign(options);
    return this.#resigning;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.release();
    } catch (error) {
      this.#monitor.report(error);
    }
  }

  async #resign(options: ReleaseOptions): Promise<void> {
    this.end("its leader resigns");
    // A listener of `elected` may resign, after which `lead()` gives the body in the same step.
    await Promise.resolve().then(() => this.#body);
    try {
      await super.release(options);
    } finally {
      // The release may reveal that the lease had been lost.
      if (!this.#isOver) {
        this.#isOver = true;
        this.#monitor.transition("resigned", this.fence);
        this.#onOver();
      }
    }
  }

  #lost(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const loss = this.lossSignal.reason as HoldfastError;
    this.hold.signal.abort(loss);
    this.#monitor.transition("lost", this.fence, { reason: loss.reason });
    this.#onOver();
  }
}
