import type { Fault, FaultScript } from "../src/testing/faults/fault-plan.js";
import type { SeededRandom } from "../src/testing/time/seeded-random.js";
import type { VirtualTime } from "../src/testing/time/virtual-time.js";
import type { Incarnation } from "./incarnation.js";
import { type Plan, rateOf } from "./plan.js";

/** What mishaps need of the run in which they happen. */
export interface Scenery {
  readonly plan: Plan;
  readonly time: VirtualTime;
  readonly live: ReadonlyMap<string, Incarnation>;
  /** Counts a fault, and tells of it in the timeline. */
  happened(fault: string, victim: Incarnation | undefined): void;
  start(): void;
  retire(victim: Incarnation): void;
  deleteRecord(name: string): boolean;
}

type Mishap = (victim: Incarnation) => void;

/** What goes wrong with processes, machines and the whole table; faults of requests come besides. */
export class Mishaps {
  readonly #scenery: Scenery;
  readonly #random: SeededRandom;
  #common: FaultScript | undefined;
  #outages = 0;
  #lastFaultMs = 0;

  constructor(scenery: Scenery, random: SeededRandom) {
    this.#scenery = scenery;
    this.#random = random;
  }

  /** What goes wrong with everybody's requests. */
  readonly commonScript: FaultScript = (request, ordinal) => this.#common?.(request, ordinal);

  /** One mishap, drawn for this kind of plan. */
  strike(): void {
    const { live } = this.#scenery;
    const all = [...live.values()];
    const victim = all[this.#random.integer(0, all.length - 1)];
    if (victim === undefined || victim.process.state !== "running") return;
    this.#draw()(victim);
  }

  /** From now on nothing new goes wrong; what is under way ends as planned. */
  end(): void {
    this.#common = undefined;
  }

  #draw(): Mishap {
    switch (this.#scenery.plan.kind) {
      case "calm":
        return () => undefined;
      case "crash":
        return this.#kill;
      case "one fault":
        return this.#oneFault;
      case "deleted":
        return this.#delete;
      case "snapshot":
        return this.#random.chance(0.5) ? this.#snapshot : this.#drawOf(CROWD);
      case "duel":
        return this.#drawOf(DUEL);
      default:
        return this.#drawOf(CROWD);
    }
  }

  #drawOf(weights: Weights): Mishap {
    const entries = Object.entries(weights) as [keyof Weights, number][];
    const total = entries.reduce((sum, [, weight]) => sum + weight, 0);
    let left = this.#random.fraction() * total;
    const drawn = entries.find(([, weight]) => {
      left -= weight;
      return left < 0;
    });
    return this.#mishaps[drawn?.[0] ?? "pause"];
  }

  readonly #kill: Mishap = (victim) => {
    this.#scenery.happened("killed", victim);
    this.#scenery.retire(victim);
    this.#scenery.start();
  };

  readonly #pause: Mishap = (victim) => {
    const frozen = this.#random.chance(0.4) ? "monotonic" : "none";
    this.#suspend(victim, frozen, frozen === "none" ? "paused" : "suspended");
  };

  readonly #snapshot: Mishap = (victim) => this.#suspend(victim, "all", "frozen with all clocks");

  #suspend(victim: Incarnation, frozen: "none" | "monotonic" | "all", fault: string): void {
    const { happened } = this.#scenery;
    happened(fault, victim);
    victim.happened("hindered");
    victim.process.pause({ frozen });
    this.#later(this.#aWhile(), () => {
      if (victim.process.state !== "paused") return;
      const first = this.#random.chance(0.5) ? "io" : "timers";
      happened(`resumed, ${first === "io" ? "I/O" : "timers"} first`, victim);
      victim.process.resume({ first });
      victim.happened("free again");
    });
  }

  readonly #stopMonotonic: Mishap = (victim) => {
    this.#scenery.happened("monotonic clock stood still", victim);
    this.#hinder(victim);
    victim.process.freezeMonotonic();
    this.#later(this.#aWhile(), () => {
      victim.process.thawMonotonic();
      this.#free(victim);
    });
  };

  readonly #stepWall: Mishap = (victim) => {
    const byMs = (this.#random.fraction() - 0.5) * 10_000;
    this.#scenery.happened(byMs < 0 ? "wall clock stepped back" : "wall clock stepped", victim);
    victim.process.stepWall(byMs);
  };

  // While nothing arrives, or nothing comes back, only the deadline ends what the holder believes.
  readonly #cut: Mishap = (victim) => {
    const fault = this.#random.chance(0.5) ? "request-lost" : "response-lost";
    const hears = this.#random.chance(0.5) ? { unknownAfterMs: 1 } : {};
    this.#scenery.happened(`cut off: every ${fault.replace("-", " ")}`, victim);
    this.#hinder(victim);
    victim.script = () => ({ fault, ...hears });
    this.#later(this.#aWhile(), () => this.#heal(victim));
  };

  // Slow, and then cut off: the last answer that came was late, so it matters from when it counts.
  readonly #slowThenCut: Mishap = (victim) => {
    const { plan, happened } = this.#scenery;
    happened("slow, then cut off", victim);
    this.#hinder(victim);
    victim.script = () => ({
      fault: "delayed",
      delayMs: this.#random.fraction() * plan.leaseMs[1],
    });
    const slowMs = this.#random.fraction() * 2 * plan.leaseMs[1];
    this.#later(slowMs, () => {
      const fault = this.#random.chance(0.7) ? "request-lost" : "response-lost";
      victim.script = () => ({ fault });
    });
    this.#later(slowMs + this.#aWhile(), () => this.#heal(victim));
  };

  readonly #changeRate: Mishap = (victim) => {
    this.#scenery.happened("rate of the clocks changed", victim);
    victim.process.setRate(rateOf(this.#random, this.#scenery.plan.drift));
  };

  // The whole table is away, or comes back from a restart: of a request nobody knows whether it was done.
  readonly #outage: Mishap = () => {
    const { live, happened } = this.#scenery;
    happened("outage of the table", undefined);
    const refuses = this.#random.chance(0.3);
    const hears = this.#random.chance(0.5) ? { unknownAfterMs: 1 } : {};
    this.#outages += 1;
    this.#common = (): Fault => {
      if (refuses) return { fault: "throttled" };
      return { fault: this.#random.chance(0.7) ? "request-lost" : "response-lost", ...hears };
    };
    const victims = [...live.values()];
    for (const victim of victims) this.#hinder(victim);
    const outage = this.#outages;
    this.#later(this.#aWhile(), () => {
      if (outage === this.#outages) this.#common = undefined;
      for (const victim of victims) this.#free(victim);
    });
  };

  // Taken by whoever writes next. Only faults that are over when it is answered: a copy that comes late
  // makes a holder whom others have to watch.
  readonly #oneFault: Mishap = () => {
    const { plan, time } = this.#scenery;
    const isTooSoon = time.nowMs - this.#lastFaultMs < plan.mishapsApartMs;
    if (this.#common !== undefined || isTooSoon) return;
    const faults: Fault[] = [
      { fault: "response-lost" },
      { fault: "response-lost", unknownAfterMs: 5 },
      { fault: "response-lost-and-retried", retryAfterMs: 100 },
      { fault: "request-lost" },
      { fault: "throttled" },
      { fault: "conflict" },
    ];
    const fault = faults[this.#random.integer(0, faults.length - 1)];
    this.#common = (request) => {
      if (request.kind !== "write") return undefined;
      this.#common = undefined;
      this.#lastFaultMs = time.nowMs;
      return fault;
    };
  };

  readonly #delete: Mishap = () => {
    const { plan, happened, deleteRecord } = this.#scenery;
    const name = plan.names[this.#random.integer(0, plan.names.length - 1)];
    if (name !== undefined && deleteRecord(name)) happened("deleted by hand", undefined);
  };

  readonly #mishaps: Readonly<Record<keyof Weights, Mishap>> = {
    kill: this.#kill,
    pause: this.#pause,
    stopMonotonic: this.#stopMonotonic,
    stepWall: this.#stepWall,
    cut: this.#cut,
    slowThenCut: this.#slowThenCut,
    changeRate: this.#changeRate,
    outage: this.#outage,
  };

  #heal(victim: Incarnation): void {
    victim.script = undefined;
    this.#free(victim);
  }

  #hinder(victim: Incarnation): void {
    victim.happened("hindered");
  }

  #free(victim: Incarnation): void {
    victim.happened("free again");
  }

  #aWhile(): number {
    return this.#random.fraction() * 3 * this.#scenery.plan.leaseMs[1];
  }

  #later(delayMs: number, then: () => void): void {
    this.#scenery.time.timers.set(delayMs, true, then);
  }
}

interface Weights {
  readonly kill: number;
  readonly pause: number;
  readonly stopMonotonic: number;
  readonly stepWall: number;
  readonly cut: number;
  readonly slowThenCut: number;
  readonly changeRate: number;
  readonly outage: number;
}

const CROWD: Weights = {
  kill: 2,
  pause: 4,
  stopMonotonic: 1,
  stepWall: 2,
  cut: 3,
  slowThenCut: 3,
  changeRate: 2,
  outage: 1,
};

const DUEL: Weights = {
  kill: 0,
  pause: 0,
  stopMonotonic: 0.5,
  stepWall: 0,
  cut: 4,
  slowThenCut: 3,
  changeRate: 0,
  outage: 0.3,
};
