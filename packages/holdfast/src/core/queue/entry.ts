import { Abort } from "../../platform/abort.js";
import type { Cancelling } from "../acquire/cancellation.js";
import type { SharedPlace } from "../local-queue.js";
import type { Unavailable } from "../unavailable.js";

/** The error of an expired place. Only the queue sees it. */
const PLACE_EXPIRED = Symbol("place expired");

/** The cancellation of an acquisition with a place in a queue: by the acquisition, or by the end of the place. */
export class Entry implements Cancelling {
  readonly ticket: bigint;
  readonly #place: SharedPlace;
  readonly #cancellation: Cancelling;
  readonly signal = new Abort();

  constructor(place: SharedPlace, ticket: bigint, cancellation: Cancelling) {
    this.ticket = ticket;
    this.#place = place;
    this.#cancellation = cancellation;
    cancellation.signal.addEventListener("abort", this.#end);
    place.lossSignal.addEventListener("abort", this.#end);
    if (this.isStopped) this.#end();
  }

  get isStopped(): boolean {
    return this.#cancellation.isStopped || !this.#place.isHeld;
  }

  get waits(): boolean {
    return this.#cancellation.waits;
  }

  onWait(heldBy: string | undefined): void {
    this.#cancellation.onWait(heldBy);
  }

  onResponse(): void {
    this.#cancellation.onResponse();
  }

  onNoResponse(trouble: Unavailable): void {
    this.#cancellation.onNoResponse(trouble);
  }

  error(): unknown {
    return this.#cancellation.isStopped ? this.#cancellation.error() : PLACE_EXPIRED;
  }

  /** Whether an error only means an expired place. */
  static isOver(error: unknown): boolean {
    return error === PLACE_EXPIRED;
  }

  /** Removes the listeners. The place stays. */
  dispose(): void {
    this.#cancellation.signal.removeEventListener("abort", this.#end);
    this.#place.lossSignal.removeEventListener("abort", this.#end);
  }

  readonly #end = (): void => this.signal.abort();
}
