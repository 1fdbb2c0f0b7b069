import { setMaxListeners } from "node:events";
import { onAbort, type SignalLike } from "../platform/abort.js";
import { closedError } from "./candidate.js";

/** Ends a candidate's wait: by the caller's signal, or by the closing client. */
export class Ending {
  readonly #controller = new AbortController();
  readonly #forgets: readonly (() => void)[];

  constructor(closing: SignalLike, name: string, asked: AbortSignal | undefined) {
    // Every poll of a long wait adds a listener, and a caller's signal may end many candidates.
    setMaxListeners(0, this.signal, ...(asked === undefined ? [] : [asked]));
    const end = (): void =>
      this.#controller.abort(asked?.aborted === true ? asked.reason : closedError(name));
    this.#forgets = [asked, closing].map((one) => onAbort(one, end));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Removes the listeners. */
  dispose(): void {
    for (const forget of this.#forgets) forget();
  }
}
