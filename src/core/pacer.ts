import type { SignalLike } from "../platform/abort.js";
import type { ClientContext } from "./context.js";

// An acquisition takes this many steps at the most, each of which needs the answer of the step before it.
const ROUNDS_AT_ONCE = 4;

/**
 * Paces a loop that sends again after an answer, so that no loop sends for ever without a pause. The first
 * rounds follow at once, since each answer shows what to send next. Every further round waits for one
 * fastest poll, with jitter.
 */
export class Pacer {
  readonly #context: ClientContext;
  readonly #pauseMs: number;
  #rounds = 0;

  constructor(context: ClientContext, { minPollMs }: { readonly minPollMs: number }) {
    this.#context = context;
    this.#pauseMs = minPollMs;
  }

  /** Waits before another round of the loop, or less where `signal` aborts first. Never rejects. */
  async beforeNextRound(signal: SignalLike): Promise<void> {
    this.#rounds += 1;
    if (this.#rounds <= ROUNDS_AT_ONCE) return;
    await this.#context.sleep(this.#context.jittered(this.#pauseMs), signal);
  }

  /** The loop has waited by itself: its next rounds may follow at once again. */
  paused(): void {
    this.#rounds = 0;
  }
}
