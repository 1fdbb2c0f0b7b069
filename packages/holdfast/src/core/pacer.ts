import type { SignalLike } from "../platform/abort.js";
import type { ClientContext } from "./context.js";

// In an acquisition, at most this many requests follow one another, each by the answer to the one before.
const ROUNDS_AT_ONCE = 4;

/**
 * Paces a loop of requests, so that no loop sends for ever without a pause. The first rounds have no pause,
 * because each answer shows what to send next. Every further round waits for the shortest poll interval, with
 * jitter.
 */
export class Pacer {
  readonly #context: ClientContext;
  readonly #pauseMs: number;
  #rounds = 0;

  constructor(context: ClientContext, { minPollMs }: { readonly minPollMs: number }) {
    this.#context = context;
    this.#pauseMs = minPollMs;
  }

  /** Waits before another round of the loop. Returns early if `signal` aborts. Never rejects. */
  async beforeNextRound(signal: SignalLike): Promise<void> {
    this.#rounds += 1;
    if (this.#rounds <= ROUNDS_AT_ONCE) return;
    await this.#context.sleep(this.#context.jittered(this.#pauseMs), signal);
  }

  /** Resets the count after a pause of the loop itself: the next rounds may follow at once again. */
  paused(): void {
    this.#rounds = 0;
  }
}
