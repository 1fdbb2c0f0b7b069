import type { FaultRequest, FaultScript } from "../../../packages/testing/src/faults/fault-plan.js";
import type { SeededRandom } from "../../../packages/testing/src/time/seeded-random.js";
import type { VirtualTime } from "../../../packages/testing/src/time/virtual-time.js";
import { textIn } from "../items.js";
import { keysOf } from "../pacing.js";

type Hits = (request: FaultRequest) => boolean;

/** Outages: every request of a kind, or about the lock and its queue, fails for longer than a lease. */
export class Outages {
  /** The end of the last outage, in true time. */
  untilMs = Number.NEGATIVE_INFINITY;
  readonly #time: VirtualTime;
  readonly #partitions: readonly string[];
  #hits: Hits = () => false;
  #fault: "request-lost" | "throttled" = "throttled";

  constructor(time: VirtualTime, partitions: readonly string[]) {
    this.#time = time;
    this.#partitions = partitions;
  }

  /** Faults of every process's requests. */
  readonly script: FaultScript = (request) =>
    this.#time.nowMs < this.untilMs && this.#hits(request) ? { fault: this.#fault } : undefined;

  begin(random: SeededRandom, leaseMs: number): void {
    this.untilMs = this.#time.nowMs + leaseMs * (1.1 + random.fraction());
    this.#fault = random.chance(0.5) ? "request-lost" : "throttled";
    this.#hits = random.chance(0.5) ? isDeletion : (request) => this.#isOfPartition(request);
  }

  end(): void {
    this.untilMs = Math.min(this.untilMs, this.#time.nowMs);
  }

  #isOfPartition(request: FaultRequest): boolean {
    return keysOf(request).some((key) => this.#partitions.includes(textIn(key, "pk") ?? ""));
  }
}

const isDeletion: Hits = (request) => request.kind === "write" && request.write.as === "delete";
