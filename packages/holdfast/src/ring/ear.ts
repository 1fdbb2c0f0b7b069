import type { ClientContext } from "../core/context.js";
import type { Ear, Ringable, RingKind } from "../core/rings.js";
import type { RingMark } from "../native/native-rings.js";
import type { SignalLike } from "../platform/abort.js";
import type { Timer } from "../platform/timers.js";

/**
 * How many rings of one grant a waiter follows. One is enough: the others are for a ring that came too early, such as a
 * forged one. So whoever forges rings causes at most this many requests for each grant.
 */
const MOST_RINGS = 3;
/** A waiter that is not told first looks after about this long, so that the first has claimed by then. */
const LOOK_AFTER_MS = 50;

/** Connects ears with other clients. */
interface Exchange {
  markIn(record: Ringable | undefined): RingMark | undefined;
  wait(mark: RingMark, ear: RingEar): boolean;
  leave(mark: RingMark, ear: RingEar): void;
}

/** The ear of one waiter. */
export class RingEar implements Ear {
  readonly #context: ClientContext;
  readonly #exchange: Exchange;
  #mark: RingMark | undefined;
  /** Whether the other client was told, and has not rung since. */
  #listens = false;
  #isHeard = false;
  #rings = 0;
  #rung: RingKind | undefined;
  /** Begins the present pause anew, because something was heard. */
  #onChange: (() => void) | undefined;

  constructor(context: ClientContext, exchange: Exchange) {
    this.#context = context;
    this.#exchange = exchange;
  }

  listen(record: Ringable | undefined): void {
    const mark = this.#exchange.markIn(record);
    if (mark?.token !== this.#mark?.token || mark?.address !== this.#mark?.address) {
      this.close();
      this.#mark = mark;
      this.#rings = 0;
      this.#rung = undefined;
    }
    if (mark === undefined || this.#listens || this.#rings >= MOST_RINGS) return;
    this.#listens = this.#exchange.wait(mark, this);
  }

  sleep(delayMs: number, longestMs: number, signal: SignalLike): Promise<RingKind | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    const { timers } = this.#context;
    const fromMs = this.#context.nowMs();
    const heardMs = Math.max(delayMs, this.#context.jittered(longestMs));
    return new Promise((resolve) => {
      let timer: Timer | undefined;
      const done = (): void => {
        timer?.cancel();
        signal.removeEventListener("abort", done);
        this.#onChange = undefined;
        const rung = this.#rung;
        this.#rung = undefined;
        resolve(rung);
      };
      const arm = (): void => {
        timer?.cancel();
        const leftMs = (this.#isHeard ? heardMs : delayMs) - (this.#context.nowMs() - fromMs);
        if (this.#rung === "free" || leftMs <= 0) {
          done();
          return;
        }
        const lookMs = this.#rung === "look" ? this.#context.jittered(LOOK_AFTER_MS) : leftMs;
        timer = timers.set(Math.min(lookMs, leftMs), true, done);
      };
      signal.addEventListener("abort", done);
      this.#onChange = arm;
      arm();
    });
  }

  heard(): void {
    if (this.#isHeard) return;
    this.#isHeard = true;
    this.#onChange?.();
  }

  rung(kind: RingKind): void {
    this.#listens = false;
    this.#isHeard = false;
    this.#rings += 1;
    this.#rung = kind;
    this.#onChange?.();
  }

  /** The connection has ended: the holder's process may have released the lock before. */
  cutOff(): void {
    if (this.#isHeard) this.rung("look");
    else this.#listens = false;
  }

  close(): void {
    if (this.#mark !== undefined && this.#listens) this.#exchange.leave(this.#mark, this);
    this.#listens = false;
    this.#isHeard = false;
  }
}
