import { HoldfastError } from "../../errors.js";
import { type Duration, durationMs } from "../../internal/duration.js";
import type { Timer } from "../../platform/timers.js";
import { actingMs } from "./deadline.js";
import type { Hold } from "./hold.js";

// Looked at so often, as parts of the time that is to be left: a lease can be made shorter, and of the
// three clocks that its deadline goes by a timer knows one.
const LOOKS = 4;
const SHORTEST_LOOK_MS = 20;
const RANGE = { leastMs: 1, mostMs: 365 * 24 * 3_600_000 };

/** The alarms of one handle on a hold: each calls back once, when little is left of the lease. */
export class Alarms {
  readonly #hold: Hold;
  readonly #alarms = new Set<Alarm>();

  constructor(hold: Hold) {
    this.#hold = hold;
    hold.lossSignal.signal.addEventListener("abort", () => this.stop(), { once: true });
  }

  /** Sets one; answers what calls it off. Throws `invalid-argument`. */
  set(within: Duration, listener: () => void): () => void {
    const withinMs = durationMs("within", within, RANGE);
    const { context, leaseMs, settings } = this.#hold;
    const renewMs = settings.renewMs === "manual" ? 0 : settings.renewMs;
    const mostMs = actingMs(context, leaseMs) - renewMs;
    if (withinMs >= mostMs) {
      throw new HoldfastError(
        "invalid-argument",
        `\`within\` (${withinMs} ms) must be less than what is left of the lease at a renewal, ` +
          `${mostMs} ms: it would be told of a lease that is well.`,
      );
    }
    const alarm = new Alarm(this.#hold, withinMs, listener);
    this.#alarms.add(alarm);
    return () => {
      alarm.stop();
      this.#alarms.delete(alarm);
    };
  }

  /** Calls all of them off. */
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
    const lookMs = Math.max(this.#withinMs / LOOKS, SHORTEST_LOOK_MS);
    const delayMs = Math.max(0, Math.min(leftMs, lookMs));
    this.#timer = this.#hold.context.timers.set(delayMs, false, () => this.#look());
  }

  #look(): void {
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
      const message = `What was to be told that the lease of "${ref.name}" ends soon failed: ${what}`;
      context.report(new HoldfastError("outcome-unknown", message, { lockName: ref.name, cause }));
    }
  }
}
