import { instantOf } from "../../platform/clock.js";
import type { Timer } from "../../platform/timers.js";
import type { ClientContext } from "../context.js";
import { Deadline } from "./deadline.js";

// Late enough to be worth a look, and early enough to give the holder a tenth of its time to end well.
const WARNED_PART = 1 / 10;

/** The hold to end. */
interface Limited {
  readonly context: ClientContext;
  /** Tells that the hold will end soon. Must not throw. */
  nearsEnd(leftMs: number): void;
  /** Ends the hold if its time is over. */
  check(): unknown;
}

/**
 * Ends a hold that is renewed for too long: a holder that is stuck renews for ever. The time counts from when the caller has
 * the lock: a slow answer to the grant must not use it up.
 */
export class LongestHold {
  /** The hold's deadline is never later. */
  readonly deadline: Deadline;
  readonly #hold: Limited;
  #timer: Timer | undefined;

  constructor(hold: Limited, maxHoldMs: number) {
    this.#hold = hold;
    this.deadline = new Deadline(hold.context.clock, instantOf(hold.context.clock), maxHoldMs);
    this.#wait(maxHoldMs * WARNED_PART);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** Acts when at most `leftMs` are left. A timer follows only one of the clocks, and may fire early. */
  #wait(leftMs: number): void {
    const delayMs = Math.max(1, this.deadline.remainingMs() - leftMs);
    this.#timer = this.#hold.context.timers.set(delayMs, false, () => {
      const nowLeftMs = this.deadline.remainingMs();
      if (nowLeftMs > leftMs) this.#wait(leftMs);
      else if (nowLeftMs <= 0) this.#hold.check();
      else {
        this.#hold.nearsEnd(nowLeftMs);
        this.#wait(0);
      }
    });
  }
}
