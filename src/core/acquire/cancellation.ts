import { setMaxListeners } from "node:events";
import { HoldfastError } from "../../errors.js";
import { shown } from "../../internal/shown.js";
import { Abort, type SignalLike } from "../../platform/abort.js";
import type { Timer } from "../../platform/timers.js";
import { emitWait } from "../events.js";
import type { HoldQueue, HoldSettings } from "../hold/hold.js";
import type { RecordRef } from "../record/format.js";
import { titleOf, type Unavailable, unavailableError } from "../unavailable.js";
import type { AcquireContext } from "./context.js";

// Longer than any process lives, and a number that every clock can add.
const FOR_EVER_MS = 1e12;

/** What ends the work of an acquisition, or of a part of it. */
export interface Cancelling {
  readonly signal: SignalLike;
  readonly isStopped: boolean;
  /** It has to wait, for somebody with this label where that is known. */
  onWait(heldBy: string | undefined): void;
  /** A request was answered. */
  onResponse(): void;
  /** A request told nothing. */
  onNoResponse(trouble: Unavailable): void;
  /** What to reject with. */
  error(): unknown;
}

/** What ends an acquisition: its deadline, its caller's signal, the client's closing, or the end of its session. */
export class Cancellation implements Cancelling {
  readonly #abort = new Abort();
  readonly #context: AcquireContext;
  readonly #refs: readonly RecordRef[];
  readonly #settings: HoldSettings;
  readonly #timer: Timer | undefined;
  #localQueue: HoldQueue | undefined;
  #trouble: Unavailable | undefined;
  #wasTold = false;
  #hasWaited = false;

  /** Of one record, or of several that are acquired together. */
  constructor(context: AcquireContext, refs: readonly RecordRef[], settings: HoldSettings) {
    this.#context = context;
    this.#refs = refs;
    this.#settings = settings;
    if (settings.signal !== undefined) {
      // One signal may end hundreds of acquisitions; Node warns from the eleventh listener on.
      setMaxListeners(0, settings.signal);
      settings.signal.addEventListener("abort", this.#cancellation);
    }
    context.closing.addEventListener("abort", this.#cancellation);
    settings.keptAliveBy?.over?.addEventListener("abort", this.#cancellation);
    if (settings.signal?.aborted === true || this.isRefused) this.#cancellation();
    // The timer is set even for a wait without end: a pending acquire keeps the process alive.
    if (settings.waitMs > 0) {
      const waitMs = Math.min(settings.waitMs, FOR_EVER_MS);
      this.#timer = context.timers.set(waitMs, true, this.#cancellation);
    }
  }

  get signal(): SignalLike {
    return this.#abort;
  }

  get isStopped(): boolean {
    return this.#abort.aborted;
  }

  /**
   * Whether a lease that was granted may not begin: the client was closed, or its session has ended. Asks
   * the clocks: after a pause a grant can be answered before a timer ends the session.
   */
  get isRefused(): boolean {
    return this.#context.closing.aborted || this.#settings.keptAliveBy?.refusal() !== undefined;
  }

  /** From now on it is known what the line's other acquisitions are told. */
  standIn(localQueue: HoldQueue): void {
    this.#localQueue = localQueue;
  }

  /** Tells of it, once for an acquisition; never for one that does not wait. */
  onWait(heldBy: string | undefined): void {
    if (this.#hasWaited || this.#settings.waitMs === 0) return;
    this.#hasWaited = true;
    for (const ref of this.#refs) emitWait(ref, this.#settings.owner, heldBy);
  }

  /** A request was answered, so whatever ends the acquisition now is not trouble with the table. */
  onResponse(): void {
    this.#wasTold = true;
    this.#setTrouble(undefined);
  }

  /**
   * A request told nothing. Cut off by the end itself, that is no trouble if others told something, and says
   * less than a trouble before it.
   */
  onNoResponse(trouble: Unavailable): void {
    if (this.isStopped && (this.#wasTold || this.#trouble !== undefined)) return;
    this.#setTrouble(trouble);
  }

  #setTrouble(trouble: Unavailable | undefined): void {
    this.#trouble = trouble;
    if (this.#localQueue !== undefined) this.#localQueue.trouble = trouble;
  }

  /** What to reject with: the caller's reason, `closed`, trouble with the table, or contention. */
  error(): unknown {
    if (this.#settings.signal?.aborted === true) return this.#settings.signal.reason;
    if (this.#context.closing.aborted) {
      return new HoldfastError(
        "closed",
        `${this.#title} cannot be acquired: the client was closed. Make a new one.`,
        { lockName: this.#lockName },
      );
    }
    const refusal = this.#settings.keptAliveBy?.refusal();
    if (refusal !== undefined) return refusal;
    const trouble = this.#trouble ?? this.#localQueue?.trouble;
    return trouble === undefined
      ? this.#notAcquired()
      : unavailableError(this.#lockName, "was not acquired", trouble, this.#title);
  }

  /** Takes the listeners and the timer away again. */
  dispose(): void {
    this.#timer?.cancel();
    this.#settings.signal?.removeEventListener("abort", this.#cancellation);
    this.#context.closing.removeEventListener("abort", this.#cancellation);
    this.#settings.keptAliveBy?.over?.removeEventListener("abort", this.#cancellation);
  }

  readonly #cancellation = (): void => this.#abort.abort();

  #notAcquired(): HoldfastError {
    const records = this.#refs.map(({ id }) => this.#context.observations.of(id)?.record);
    const held = records.find((record) => record?.state === "held");
    const found =
      held?.state === "held"
        ? `${shown(held.owner ?? "somebody")} holds it`
        : records.every((record) => record === undefined || record.state === "absent")
          ? "no record of it was found"
          : "others were faster";
    return new HoldfastError(
      "not-acquired",
      `${this.#title} was not acquired within ${this.#settings.waitMs} ms: ${found}.`,
      { lockName: this.#lockName },
    );
  }

  get #lockName(): string {
    return this.#refs.map(({ name }) => name).join(", ");
  }

  get #title(): string {
    return titleOf(this.#refs.map(({ name }) => name));
  }
}
