import { Abort } from "../../platform/abort.js";
import type { Cancelling } from "../acquire/cancellation.js";
import type { RecordAcquisition } from "../acquire/settings.js";
import type { SharedPlace } from "../local-queue.js";
import type { Unavailable } from "../unavailable.js";

/** The error of an expired place. Only the queue sees it. */
const PLACE_EXPIRED = Symbol("place expired");

/** The cancellation of an acquisition with a place in a queue: by the acquisition, or by the end of the place. */
export class Entry implements Cancelling {
  readonly ticket: bigint;
  readonly #place: SharedPlace;
  readonly #cancellation: Cancelling;
  readonly #context: RecordAcquisition["context"];
  readonly #leaseMs: number;
  /** Since when no read of this waiter was served. */
  #silentSinceMs: number | undefined;
  #isBlind = false;
  readonly signal = new Abort();

  constructor(
    place: SharedPlace,
    ticket: bigint,
    cancellation: Cancelling,
    { context, settings }: Pick<RecordAcquisition, "context" | "settings">,
  ) {
    this.ticket = ticket;
    this.#place = place;
    this.#cancellation = cancellation;
    this.#context = context;
    this.#leaseMs = settings.leaseMs;
    cancellation.signal.addEventListener("abort", this.#end);
    place.lossSignal.addEventListener("abort", this.#end);
    if (this.isStopped) this.#end();
  }

  get isStopped(): boolean {
    return this.#cancellation.isStopped || this.#isBlind || !this.#place.isHeld;
  }

  /**
   * Whether this waiter has read nothing for a lease, although its entry may be renewed: those behind it would wait for one
   * that cannot see its turn.
   */
  get isBlind(): boolean {
    return this.#isBlind;
  }

  get waits(): boolean {
    return this.#cancellation.waits;
  }

  onWait(heldBy: string | undefined): void {
    this.#cancellation.onWait(heldBy);
  }

  onResponse(): void {
    this.#silentSinceMs = undefined;
    this.#cancellation.onResponse();
  }

  onNoResponse(trouble: Unavailable): void {
    this.#cancellation.onNoResponse(trouble);
    if (trouble.kind === "conflict" || trouble.kind === "queued") return;
    const operation = this.#context.outages.operationOf(trouble);
    // A refused claim is sent again and again, without a read between: its waiter keeps its place.
    if (operation === "write" || operation === "transaction") return;
    const nowMs = this.#context.nowMs();
    this.#silentSinceMs ??= nowMs;
    if (nowMs - this.#silentSinceMs < this.#leaseMs) return;
    this.#isBlind = true;
    this.#end();
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
