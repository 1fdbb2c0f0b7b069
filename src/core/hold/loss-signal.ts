import { setMaxListeners } from "node:events";

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

/**
 * Composes signals, as `AbortSignal.any` does, into one that asks all of them at every question. Use it in place
 * of `AbortSignal.any` for the signals of leases, sessions and terms: those look at the clocks when `aborted` is
 * read, and a signal of `AbortSignal.any` does not read it. Without a question, such as in a pending `fetch`, it
 * aborts when the first of the signals does, by its timer. Costs no request.
 * @example
 * const signal = anySignal([lease.signal, request.signal]);
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  return asked(AbortSignal.any([...signals]), () => {
    for (const { aborted } of signals) if (aborted) return;
  });
}

/** A controller whose signal calls `check` at every question. */
function asking(check: () => void): AbortController {
  const controller = new AbortController();
  asked(controller.signal, check);
  return controller;
}

/** The same signal, which from now on calls `check` at every question. */
function asked(signal: AbortSignal, check: () => void): AbortSignal {
  // Each write that waits to be retried listens to it; Node warns from the eleventh listener on.
  setMaxListeners(0, signal);
  const getter = (key: "aborted" | "reason"): PropertyDescriptor => ({
    get: () => {
      check();
      return Reflect.get(AbortSignal.prototype, key, signal);
    },
  });
  Object.defineProperties(signal, {
    aborted: getter("aborted"),
    reason: getter("reason"),
    throwIfAborted: {
      value: () => {
        check();
        AbortSignal.prototype.throwIfAborted.call(signal);
      },
    },
  });
  return signal;
}
