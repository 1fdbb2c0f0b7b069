import type { Plan } from "./plan.js";

const WINDOW_MS = 1_000;
/** The limit for the requests of a call during a lease, with the rollback. */
const MOST_PER_CALL = 12;
const MOST_PER_POLL = 3;

/**
 * Limits the requests of one process per second, whatever the faults: three for each pause of its contenders for each
 * name, plus a fixed number for each call in the last two leases. Finds loops without a pause.
 */
export class Budget {
  readonly #fail: (what: string) => void;
  readonly #mostPolls: number;
  readonly #rememberedMs: number;
  #calls: number[] = [];
  #windowFromMs = 0;
  #sent = 0;

  constructor(plan: Plan, fail: (what: string) => void) {
    this.#fail = fail;
    const polls = (WINDOW_MS * (1 + plan.maxClockDrift)) / (0.75 * plan.poll.min);
    this.#mostPolls = MOST_PER_POLL * plan.names.length * Math.ceil(polls);
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
    if (this.#sent <= this.#mostPolls) return;
    const most = this.#mostPolls + MOST_PER_CALL * this.#calls.length;
    if (this.#sent === most + 1) this.#fail(`sent more than ${most} requests in a second`);
  }
}
