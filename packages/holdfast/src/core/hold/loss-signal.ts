import { setMaxListeners } from "node:events";
import { refuse } from "../../internal/option-names.js";
import { systemFinalization } from "../../platform/finalization.js";

/**
 * An `AbortSignal` that checks the clocks at every read of `aborted`. After a pause of the process, code can run before
 * any timer, and a signal that only a timer aborts would still say `false`. Here the first read of `aborted` aborts the
 * controller, so composed signals, listeners and `throwIfAborted()` see the loss at the same instant (R2, hazard A1).
 * The first use creates the controller, because many holders never use the signal.
 */
export class LossSignal {
  readonly #check: () => void;
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #isGiven = false;

  /** `check` reads the clocks, and calls {@link abort} if the hold has ended. */
  constructor(check: () => void) {
    this.#check = check;
  }

  /** Whether the holder has, or had, the signal. */
  get isGiven(): boolean {
    return this.#isGiven;
  }

  /** Returns the signal to the holder. */
  give(): AbortSignal {
    this.#isGiven = true;
    return this.signal;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = checkedController(this.#check);
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** The reason, if the signal has aborted. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** Aborts the signal. Idempotent: the first reason stays. */
  abort(reason: Error): void {
    this.#reason ??= reason;
    this.#controller?.abort(this.#reason);
  }
}

/**
 * Composes signals, as `AbortSignal.any` does, and checks all of the signals at every read. Use `anySignal` in place of
 * `AbortSignal.any` for the signals of leases, sessions and terms. Those signals check the clocks at every read of
 * `aborted`; on some versions of Node.js a signal of `AbortSignal.any` does not pass the read on to them. While no code
 * reads `aborted`, such as in a pending `fetch`, the composed signal aborts when the timer of the first lost lease
 * fires. Sends no request. Throws `invalid-argument`.
 * @example
 * const signal = anySignal([lease.signal, request.signal]);
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  if (!Array.isArray(signals) || !signals.every((one) => one instanceof AbortSignal)) {
    throw refuse("The argument of anySignal() must be a list of AbortSignals.");
  }
  const sources = signals.flatMap((one) => sourcesOf.get(one) ?? [new WeakRef(one)]);
  const composed = checked(AbortSignal.any(signals), () => {
    for (const source of sources) if (source.deref()?.aborted === true) return;
  });
  sourcesOf.set(composed, sources);
  for (const source of sources) use(source, 1);
  collected.watch(composed, () => {
    for (const source of sources) use(source, -1);
  });
  return composed;
}

/**
 * The signals that a composed one checks. Weak: Node.js keeps a composed signal with a listener for as long as its sources
 * exist, and a reference back to them would keep all of them for ever. A signal of a lease lives as long as the lease.
 */
const sourcesOf = new WeakMap<AbortSignal, readonly WeakRef<AbortSignal>[]>();

/** How many composed signals have this source. */
const uses = new WeakMap<AbortSignal, number>();
const collected = /* @__PURE__ */ systemFinalization();
/** The same one for all signals, so that each has it once. */
const NOTHING = (): void => undefined;

/**
 * Some versions of Node.js lose a signal of `AbortSignal.timeout` that has no listener. But Node.js keeps one that has, and so
 * the one that a caller has composed of a signal that outlives it: the listener goes with the last signal that needs it.
 */
function use(source: WeakRef<AbortSignal>, by: 1 | -1): void {
  const signal = source.deref();
  if (signal === undefined) return;
  const count = (uses.get(signal) ?? 0) + by;
  uses.set(signal, count);
  if (count > 0) signal.addEventListener("abort", NOTHING);
  else signal.removeEventListener("abort", NOTHING);
}

/** Creates a controller with a signal that calls `check` at every read. */
function checkedController(check: () => void): AbortController {
  const controller = new AbortController();
  checked(controller.signal, check);
  return controller;
}

/** Makes this signal call `check` at every read. */
function checked(signal: AbortSignal, check: () => void): AbortSignal {
  // Each write in a retry pause adds a listener; Node warns from the eleventh listener on.
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
