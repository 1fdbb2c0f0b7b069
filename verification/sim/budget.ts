import type { Plan } from "./plan.js";

const WINDOW_MS = 1_000;
/** What one call may cause for as long as a lease: its own requests, and what undoes them. */
const MOST_PER_CALL = 12;
const MOST_PER_LOOK = 3;

/**
 * How many requests one process may send in a second, whatever goes wrong: three for each pause of its
 * contenders for each name, and so many for each thing that it was asked in the last two leases. A loop
 * without a pause is what this is there to find.
 */
export class Budget {
  readonly #fail: (what: string) => void;
  readonly #mostLooks: number;
  readonly #rememberedMs: number;
  #calls: number[] = [];
  #windowFromMs = 0;
  #sent = 0;

  constructor(plan: Plan, fail: (what: string) => void) {
    this.#fail = fail;
    const looks = (WINDOW_MS * (1 + plan.maxClockDrift)) / (0.75 * plan.poll.min);
    this.#mostLooks = MOST_PER_LOOK * plan.names.length * Math.ceil(looks);
    this.#rememberedMs = 2 * plan.leaseMs[1] + WINDOW_MS;
  }

  asked(nowMs: number): void {
    this.#calls.push(nowMs);
  }

  sent(nowMs: number): void {
    if (nowMs >= this.#windowFromMs + WINDOW_MS) {
      this.#windowFromMs = nowMs;
      this.#sent = 0;
      this.#calls = this.#calls.filter((atMs) => atMs > nowMs - this.#rememberedMs);
    }
    this.#sent += 1;
    if (this.#sent <= this.#mostLooks) return;
    const most = this.#mostLooks + MOST_PER_CALL * this.#calls.length;
    if (this.#sent === most + 1) this.#fail(`sent more than ${most} requests in a second`);
  }
}
