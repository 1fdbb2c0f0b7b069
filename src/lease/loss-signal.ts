/**
 * An `AbortSignal` that asks the clocks when it is asked. A signal fired by a timer alone still says
 * `false` to the first code that runs after a pause; here that first read of `aborted` aborts the
 * controller itself, so that composed signals, listeners and `throwIfAborted()` learn in the same
 * instant (R2, hazard A1). It is made when somebody first wants it, which not every holder does.
 */
export class LossSignal {
  readonly #check: () => void;
  #controller: AbortController | undefined;
  #reason: Error | undefined;

  /** `check` looks at the clocks and, if the hold has ended, calls {@link abort}. */
  constructor(check: () => void) {
    this.#check = check;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = asking(this.#check);
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Idempotent: the first reason stays. */
  abort(reason: Error): void {
    this.#reason ??= reason;
    this.#controller?.abort(this.#reason);
  }
}

/** A controller whose signal calls `check` at every question. */
function asking(check: () => void): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
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
  return controller;
}
