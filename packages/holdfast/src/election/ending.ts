import { setMaxListeners } from "node:events";
import type { SignalLike } from "../platform/abort.js";
import { closedError } from "./candidate.js";

/** Ends a candidate's wait: by the caller's signal, or by the closing client. */
export class Ending {
  readonly #controller = new AbortController();
  readonly #closing: SignalLike;
  readonly #asked: AbortSignal | undefined;
  readonly #name: string;

  constructor(closing: SignalLike, name: string, asked: AbortSignal | undefined) {
    this.#closing = closing;
    this.#asked = asked;
    this.#name = name;
    // Every poll of a long wait adds a listener, and a caller's signal may end many candidates.
    setMaxListeners(0, this.signal, ...(asked === undefined ? [] : [asked]));
    asked?.addEventListener("abort", this.#end);
    closing.addEventListener("abort", this.#end);
    if (asked?.aborted === true || closing.aborted) this.#end();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Removes the listeners. */
  dispose(): void {
    this.#asked?.removeEventListener("abort", this.#end);
    this.#closing.removeEventListener("abort", this.#end);
  }

  readonly #end = (): void => {
    const isAsked = this.#asked?.aborted === true;
    this.#controller.abort(isAsked ? this.#asked.reason : closedError(this.#name));
  };
}
