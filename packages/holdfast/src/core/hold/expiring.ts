import { type Duration, durationMs } from "../../internal/duration.js";
import { refuse } from "../../internal/option-names.js";
import { tell } from "../../internal/tell.js";
import type { Timer } from "../../platform/timers.js";
import type { FormatTypes } from "../record/format-types.js";
import { threwError } from "../unavailable.js";
import { actingMs } from "./deadline.js";
import type { Hold } from "./hold.js";
import { checkFunction, handleOf, type Lease, untilEnd } from "./lease.js";

// Checks every quarter of `within`: the holder may shorten the lease, and a timer follows only one of the three clocks.
const CHECKS = 4;
const SHORTEST_CHECK_MS = 20;
const RANGE = { leastMs: 1, mostMs: 365 * 24 * 3_600_000 };

/**
 * Calls `listener` once, when at most `within` is left until the deadline: DynamoDB acknowledges no renewals, or
 * the user sends none. Each acknowledged renewal delays the call. The listener has time to clean up before {@link
 * Lease.signal} aborts. The listener is **not** called after an earlier loss, by theft or during a pause of the
 * process, because only the signal reports such a loss; nor after the release. Returns a function that cancels the
 * call. An error of the listener goes to the client's `onError`. Sends no request. Throws `invalid-argument` for a
 * `within` above the time left at a renewal, and `lost`.
 */
export function onExpiring(
  lease: Lease<FormatTypes>,
  within: Duration,
  listener: () => void,
): () => void {
  const handle = handleOf("onExpiring()", lease);
  checkFunction("onExpiring()", listener);
  lease.assertHeld();
  const withinMs = durationMs("within", within, RANGE);
  for (const hold of handle.holds) checkWithin(hold, withinMs);
  // The first alarm of several locks speaks for all.
  const once = (): unknown => {
    end();
    return listener();
  };
  const alarms = handle.holds.map((hold) => new Alarm(hold, withinMs, once));
  const end = untilEnd(handle, () => {
    for (const alarm of alarms) alarm.stop();
  });
  return end;
}

function checkWithin({ context, leaseMs, settings }: Hold, withinMs: number): void {
  const renewMs = settings.renewMs === "manual" ? 0 : settings.renewMs;
  const mostMs = actingMs(context, leaseMs) - renewMs;
  if (withinMs < mostMs) return;
  throw refuse(
    `The option \`within\` (${withinMs} ms) must be less than ${mostMs} ms. A healthy lease has only ` +
      `${mostMs} ms left just before each renewal, so the listener would be called each time.`,
  );
}

class Alarm {
  readonly #hold: Hold;
  readonly #withinMs: number;
  readonly #listener: () => unknown;
  #timer: Timer | undefined;

  constructor(hold: Hold, withinMs: number, listener: () => unknown) {
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
    const { context, ref } = this.#hold;
    tell(this.#listener, undefined, (cause) =>
      context.report(threwError("onExpiring", ref, cause)),
    );
  }
}
