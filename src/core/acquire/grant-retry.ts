import { type Instant, instantOf } from "../../platform/clock.js";
import type { Misconfigured, NotNow, Unknown } from "../../platform/table.js";
import { actingMs, Deadline } from "../hold/deadline.js";
import type { Cancelling } from "./cancellation.js";
import type { AcquireContext } from "./context.js";
import type { AcquireSettings } from "./settings.js";

type Untold = Unknown | NotNow | Misconfigured;

/**
 * One request that may grant, sent again until it is answered: from when the lease counts that it would
 * make, and whether anything of it may yet land. Made just before the first send.
 */
export class GrantRetry {
  /** Sends that were not answered, each of which may have been, or may yet be, applied. */
  unanswered = 0;
  readonly #context: AcquireContext;
  readonly #settings: AcquireSettings;
  readonly #cancellation: Cancelling;
  #start: Instant;

  constructor(context: AcquireContext, settings: AcquireSettings, cancellation: Cancelling) {
    this.#context = context;
    this.#settings = settings;
    this.#cancellation = cancellation;
    this.#start = instantOf(context.clock);
  }

  /** The instant from which the lease counts. */
  get start(): Instant {
    return this.#start;
  }

  /**
   * `silent`: nobody answered in useful time. Rejects with the error of what stops it, or a wrong
   * configuration's.
   */
  async run<A extends { readonly kind: string }>(
    send: (timeoutMs: number) => Promise<A | Untold>,
  ): Promise<Exclude<A, Untold> | "silent"> {
    const { waitMs, minPollMs, maxPollMs } = this.#settings;
    const firstMs = this.#context.nowMs();
    // Before the first send nothing of it is over. Reading the clocks is what costs most here.
    let leftMs = this.#lengthMs;
    for (let pauseMs = minPollMs; ; pauseMs = Math.min(2 * pauseMs, maxPollMs)) {
      if (leftMs <= this.#settings.leaseMs / 2) return "silent";
      const answer = await send(this.#context.timeoutWithin(leftMs));
      if (!isUntold(answer)) {
        this.#cancellation.onResponse();
        return answer as Exclude<A, Untold>;
      }
      if (answer.kind === "misconfigured") throw answer.error;
      if (answer.kind === "unknown") this.unanswered += 1;
      this.#cancellation.onNoResponse(answer);
      const triedMs = this.#context.nowMs() - firstMs;
      if (waitMs === 0 && triedMs >= this.#context.settings.requestTimeoutMs) {
        throw this.#cancellation.error();
      }
      await this.#context.sleep(this.#context.jittered(pauseMs), this.#cancellation.signal);
      if (this.#cancellation.isStopped) throw this.#cancellation.error();
      // Only while an earlier send may have been applied does the lease count from it.
      if (this.unanswered === 0) this.#start = instantOf(this.#context.clock);
      leftMs = this.deadline.remainingMs();
    }
  }

  /**
   * Whether what was granted may be handed out now; asked once it is known: it may have taken its whole
   * lease to arrive. Throws the error of what stops it.
   */
  isInTime(): boolean {
    if (this.#cancellation.isStopped) throw this.#cancellation.error();
    return this.deadline.remainingMs() > 0;
  }

  /** After which nobody may act by what it grants. */
  get deadline(): Deadline {
    return new Deadline(this.#context.clock, this.#start, this.#lengthMs);
  }

  get #lengthMs(): number {
    return actingMs(this.#context, this.#settings.leaseMs);
  }
}

const UNTOLD: readonly string[] = ["unknown", "throttled", "conflict", "skewed", "misconfigured"];

function isUntold(answer: { readonly kind: string }): answer is Untold {
  return UNTOLD.includes(answer.kind);
}
