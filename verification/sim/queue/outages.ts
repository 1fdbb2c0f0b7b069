import type { Item } from "../../../packages/holdfast/src/platform/table.js";
import type { FaultRequest, FaultScript } from "../../../packages/testing/src/faults/fault-plan.js";
import type { SeededRandom } from "../../../packages/testing/src/time/seeded-random.js";
import type { VirtualTime } from "../../../packages/testing/src/time/virtual-time.js";
import { stringIn } from "./checkers.js";

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
    return partitionsOf(request).some((partition) => this.#partitions.includes(partition));
  }
}

function partitionsOf(request: FaultRequest): readonly string[] {
  if (request.kind === "query") return [request.query.partition.value];
  const keys = keysOf(request);
  return keys.flatMap((key) => stringIn(key, "pk") ?? []);
}

function keysOf(request: FaultRequest): readonly Item[] {
  if (request.kind === "write") return [request.write.key];
  if (request.kind === "read") return [request.read.key];
  return request.kind === "transact" ? request.transaction.writes.map(({ key }) => key) : [];
}

const isDeletion: Hits = (request) => request.kind === "write" && request.write.as === "delete";
