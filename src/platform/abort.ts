/** What is asked of an `AbortSignal` here: an `AbortSignal`, or something lighter. */
export interface SignalLike {
  /** Whether it has aborted. */
  readonly aborted: boolean;
  /** Why, once it has. */
  readonly reason: unknown;
  /** Calls `listener` when it aborts, once; never if it has already. */
  addEventListener(type: "abort", listener: () => void): void;
  /** Takes a listener away again. */
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * A controller and its signal in one, for what is made with every request. Node's own are event targets of
 * the web's: dearer by far, and they go through all their listeners to find one, of which the closing of a
 * client has one for each acquisition that waits.
 */
export class Abort implements SignalLike {
  #isAborted = false;
  #reason: unknown;
  #listeners: Set<() => void> | undefined;

  get aborted(): boolean {
    return this.#isAborted;
  }

  /** Made when it is asked for: an error is dear, and few want to know. */
  get reason(): unknown {
    if (this.#isAborted) this.#reason ??= new DOMException("It was aborted.", "AbortError");
    return this.#reason;
  }

  addEventListener(_: "abort", listener: () => void): void {
    // One that comes too late is never called, as the standard has it.
    if (this.#isAborted) return;
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
  }

  removeEventListener(_: "abort", listener: () => void): void {
    this.#listeners?.delete(listener);
  }

  /** Calls each listener, in the order in which they came. Does nothing the second time. */
  abort(): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    for (const listener of this.#listeners ?? []) listener();
    this.#listeners = undefined;
  }
}

/** The same as a real one, for whoever asks for no less. */
export function abortSignalOf(signal: SignalLike): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal.reason);
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  return controller.signal;
}
