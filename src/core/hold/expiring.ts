import { HoldfastError } from "../../errors.js";
import { type Duration, durationMs } from "../../internal/duration.js";
import type { Timer } from "../../platform/timers.js";
import { phraseOf } from "../unavailable.js";
import { actingMs } from "./deadline.js";
import type { Hold } from "./hold.js";

// Checks every quarter of `within`: the holder may shorten the lease, and a timer follows only one of the three clocks.
const CHECKS = 4;
const SHORTEST_CHECK_MS = 20;
const RANGE = { leastMs: 1, mostMs: 365 * 24 * 3_600_000 };

/** The alarms of a handle on a hold. Each alarm calls the listener once, shortly before the deadline. */
export class Alarms {
  readonly #hold: Hold;
  readonly #alarms = new Set<Alarm>();

  constructor(hold: Hold) {
    this.#hold = hold;
    hold.lossSignal.give().addEventListener("abort", () => this.stop(), { once: true });
  }

  /** Sets an alarm. Returns a function that cancels the alarm. Throws `invalid-argument`. */
  set(within: Duration, listener: () => void): () => void {
    const withinMs = durationMs("within", within, RANGE);
    const { context, leaseMs, settings } = this.#hold;
    const renewMs = settings.renewMs === "manual" ? 0 : settings.renewMs;
    const mostMs = actingMs(context, leaseMs) - renewMs;
    if (withinMs >= mostMs) {
      throw new HoldfastError(
        "invalid-argument",
        `The option \`within\` (${withinMs} ms) must be less than ${mostMs} ms. A healthy lease has only ` +
          `${mostMs} ms left just before each renewal, so the listener would be called each time.`,
      );
    }
    const alarm = new Alarm(this.#hold, withinMs, listener);
    this.#alarms.add(alarm);
    return () => {
      alarm.stop();
      this.#alarms.delete(alarm);
    };
  }

  /** Cancels all alarms. */
  stop(): void {
    for (const alarm of this.#alarms) alarm.stop();
    this.#alarms.clear();
  }
}

class Alarm {
  readonly #hold: Hold;
  readonly #withinMs: number;
  readonly #listener: () => void;
  #timer: Timer | undefined;

  constructor(hold: Hold, withinMs: number, listener: () => void) {
    this.#hold = hold;
    this.#withinMs = withinMs;
    this.#listener = listener;
    this.#wait();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #wait(): void {
    const leftMs = this.#hold.remainingMs() - this.#withinMs;
    const checkMs = Math.max(this.#withinMs / CHECKS, SHORTEST_CHECK_MS);
    const delayMs = Math.max(0, Math.min(leftMs, checkMs));
    this.#timer = this.#hold.context.timers.set(delayMs, false, () => this.#check());
  }

  #check(): void {
    if (!this.#hold.isHeld) return;
    if (this.#hold.remainingMs() > this.#withinMs) {
      this.#wait();
      return;
    }
    try {
      this.#listener();
    } catch (cause) {
      const { context, ref } = this.#hold;
      const what = cause instanceof Error ? cause.message : String(cause);
      const message = `The \`onExpiring\` listener of ${phraseOf(ref)} threw: ${what}`;
      context.report(new HoldfastError("outcome-unknown", message, { lockName: ref.name, cause }));
    }
  }
}
