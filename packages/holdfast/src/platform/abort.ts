/** The part of `AbortSignal` that the library uses. */
export interface SignalLike {
  /** Whether the signal has aborted. */
  readonly aborted: boolean;
  /** The reason, once the signal has aborted. */
  readonly reason: unknown;
  /** Calls `listener` once when the signal aborts. Never calls a listener added after the abort. */
  addEventListener(type: "abort", listener: () => void): void;
  /** Removes a listener. */
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * A lightweight controller and signal in one object, made for every request. Node's `AbortController` is slower
 * to create, and removes a listener by a search through all of the signal's listeners. The closing signal of a
 * client has one listener for each waiting acquisition.
 */
export class Abort implements SignalLike {
  #isAborted = false;
  #reason: unknown;
  #listeners: Set<() => void> | undefined;

  get aborted(): boolean {
    return this.#isAborted;
  }

  /**
   * The reason, created on the first read: creating an error is expensive, and few callers read the reason.
   */
  get reason(): unknown {
    if (this.#isAborted) this.#reason ??= new DOMException("It was aborted.", "AbortError");
    return this.#reason;
  }

  addEventListener(_: "abort", listener: () => void): void {
    // As in the DOM standard, a listener added after the abort is never called.
    if (this.#isAborted) return;
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
  }

  removeEventListener(_: "abort", listener: () => void): void {
    this.#listeners?.delete(listener);
  }

  /** Calls each listener in the order of registration. A second abort does nothing. */
  abort(): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    for (const listener of this.#listeners ?? []) listener();
    this.#listeners = undefined;
  }
}

/** Calls `listener` when the signal aborts, or now if it has. Returns a function that removes the listener. */
export function onAbort(signal: SignalLike | undefined, listener: () => void): () => void {
  signal?.addEventListener("abort", listener);
  if (signal?.aborted === true) listener();
  return () => signal?.removeEventListener("abort", listener);
}

/** Resolves when the signal aborts, or now if it has. */
export function untilAbort(signal: SignalLike): Promise<void> {
  return new Promise((resolve) => void onAbort(signal, resolve));
}

/** Returns a real `AbortSignal` that follows `signal`, for callers that need the full interface. */
export function abortSignalOf(signal: SignalLike): AbortSignal {
  const controller = new AbortController();
  onAbort(signal, () => controller.abort(signal.reason));
  return controller.signal;
}

/** Returns a signal that aborts with the first of these, and a function that removes its listeners from them. */
export function firstOf(signals: readonly (SignalLike | undefined)[]): {
  readonly signal: SignalLike;
  readonly dispose: () => void;
} {
  const signal = new Abort();
  const stops = signals.map((one) => onAbort(one, () => signal.abort()));
  const dispose = (): void => {
    for (const stop of stops) stop();
  };
  return { signal, dispose };
}
