import { Abort, onAbort } from "./abort.js";
import type { Call, Unknown } from "./table.js";
import type { Timer, Timers } from "./timers.js";

/** The end of a request: its output, no answer in time, or the answer that an error stands for. */
export type Bounded<Output, Failure> =
  | { readonly kind: "output"; readonly output: Output }
  | Unknown
  | Failure;

/**
 * The bounds of one request: its deadline and the caller's signal. Create them before the client sends the request.
 *
 * The library keeps the deadline itself: by default the SDK's `requestTimeout` only warns, and does not throw. If the
 * SDK is slow to end an aborted request, the caller still gets its answer at once.
 */
export class Bounds {
  /** Aborts when the call is over. The sender gives this signal to the request. */
  readonly signal = new Abort();
  readonly #stopListening: () => void;
  readonly #timer: Timer;
  readonly #over: Promise<Unknown>;
  #end: (answer: Unknown) => void = () => undefined;

  constructor(timers: Timers, call: Call) {
    this.#over = new Promise((resolve) => {
      this.#end = resolve;
    });
    // This timer does not keep the process alive: the caller that waits for the answer has a timer of its own.
    this.#timer = timers.set(call.timeoutMs, false, () =>
      this.#stop(new Error(`No answer within ${Math.round(call.timeoutMs)} ms.`)),
    );
    this.#stopListening = onAbort(call.signal, () => this.#stop(call.signal?.reason));
  }

  /**
   * Resolves with the request's output, or with the answer that its error stands for. If the call is over before the
   * request ends, resolves with `unknown`. Never rejects.
   */
  async answerTo<Output, Failure>(
    sent: Promise<unknown>,
    answerOf: (error: unknown) => Failure,
  ): Promise<Bounded<Output, Failure>> {
    try {
      const output = sent.then((found) => ({ kind: "output", output: found as Output }) as const);
      return await Promise.race([this.#over, output]);
    } catch (error) {
      return answerOf(error);
    } finally {
      this.#timer.cancel();
      this.#stopListening();
    }
  }

  #stop(cause: unknown): void {
    this.#end({ kind: "unknown", cause });
    this.signal.abort();
  }
}
