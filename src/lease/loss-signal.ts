/**
 * An `AbortSignal` that asks the clocks when it is asked. A signal fired by a timer alone still says
 * `false` to the first code that runs after a pause; here that first read of `aborted` aborts the
 * controller itself, so that composed signals, listeners and `throwIfAborted()` learn in the same
 * instant (R2, hazard A1).
 */
export class LossSignal {
  readonly #controller = new AbortController();
  readonly signal: AbortSignal;

  /** `check` looks at the clocks and, if the hold has ended, calls {@link abort}. */
  constructor(check: () => void) {
    const { signal } = this.#controller;
    const asked = <K extends "aborted" | "reason">(key: K): PropertyDescriptor => ({
      get: () => {
        check();
        return Reflect.get(AbortSignal.prototype, key, signal);
      },
    });
    Object.defineProperties(signal, {
      aborted: asked("aborted"),
      reason: asked("reason"),
      throwIfAborted: {
        value: () => {
          check();
          AbortSignal.prototype.throwIfAborted.call(signal);
        },
      },
    });
    this.signal = signal;
  }

  /** Idempotent: the first reason stays. */
  abort(reason: Error): void {
    this.#controller.abort(reason);
  }
}
