import type { Plan } from "./plan.js";

const WINDOW_MS = 1_000;
/** The limit for the requests of a call during a lease, with the rollback. */
const MOST_PER_CALL = 12;
const MOST_PER_POLL = 3;
/** The grant of a call that has waited for longer than the calls are remembered, its corrected end, and its place. */
const MOST_PER_GRANT = 3;

/**
 * Limits the requests of one process per second, whatever the faults: three for each pause of its contenders for each
 * name, three for each pause and each name of an acquisition of several locks, three for a grant of each, and a fixed number
 * for each call in the last two leases; and the first removal of each place in a queue, since a waiter may remove those of
 * many dead processes at once. Finds loops without a pause.
 */
export class Budget {
  readonly #fail: (what: string) => void;
  readonly #names: number;
  readonly #mostPolls: number;
  readonly #rememberedMs: number;
  #calls: number[] = [];
  #windowFromMs = 0;
  #sent = 0;
  /** The names of all acquisitions that poll by themselves: now, and the most in this window. */
  #polling = 0;
  #mostPolling = 0;
  readonly #removed = new Set<string>();

  constructor(plan: Plan, fail: (what: string) => void) {
    this.#fail = fail;
    const polls = (WINDOW_MS * (1 + plan.maxClockDrift)) / (0.75 * plan.poll.min);
    this.#names = plan.names.length;
    this.#mostPolls = MOST_PER_POLL * Math.ceil(polls) + MOST_PER_GRANT;
    this.#rememberedMs = 2 * plan.leaseMs[1] + WINDOW_MS;
  }

  asked(nowMs: number): void {
    this.#calls.push(nowMs);
  }

  /** The contenders for one lock poll together; an acquisition of several locks polls each name by itself. */
  polls(moreNames: number): void {
    this.#polling += moreNames;
    this.#mostPolling = Math.max(this.#mostPolling, this.#polling);
  }

  /** Counts a request, unless it is the first to remove this place. */
  sent(nowMs: number, removed?: string): void {
    if (removed !== undefined && !this.#removed.has(removed)) {
      this.#removed.add(removed);
      return;
    }
    if (nowMs >= this.#windowFromMs + WINDOW_MS) {
      this.#windowFromMs = nowMs;
      this.#sent = 0;
      this.#mostPolling = this.#polling;
      this.#calls = this.#calls.filter((atMs) => atMs > nowMs - this.#rememberedMs);
    }
    this.#sent += 1;
    const polls = (this.#names + this.#mostPolling) * this.#mostPolls;
    if (this.#sent <= polls) return;
    const most = polls + MOST_PER_CALL * this.#calls.length;
    if (this.#sent === most + 1) this.#fail(`sent more than ${most} requests in a second`);
  }
}
