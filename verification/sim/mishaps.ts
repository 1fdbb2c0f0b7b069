import type { Fault, FaultScript } from "../../packages/testing/src/faults/fault-plan.js";
import type { SeededRandom } from "../../packages/testing/src/time/seeded-random.js";
import type { VirtualTime } from "../../packages/testing/src/time/virtual-time.js";
import type { Incarnation } from "./incarnation.js";
import { textIn } from "./items.js";
import { keysOf } from "./pacing.js";
import { type Plan, rateOf } from "./plan.js";
import type { Expiring } from "./records.js";
import { ENDED, ENTOMBED, MOVE, sessionStepOf } from "./witness.js";
import { EXPIRED } from "./world/operations/aims.js";
import { COARSE_STEP_MS } from "./world/traits.js";

/** What mishaps need from their run. */
export interface Scenery {
  readonly plan: Plan;
  readonly time: VirtualTime;
  readonly live: ReadonlyMap<string, Incarnation>;
  /** The process that began a long hold last, if it still runs. */
  longHold(): Incarnation | undefined;
  /** The held records that no session keeps alive. */
  expiring(): readonly Expiring[];
  /** Counts a fault, and adds the fault to the timeline. */
  happened(fault: string, victim: Incarnation | undefined): void;
  start(): void;
  retire(victim: Incarnation): void;
  deleteRecord(name: string): boolean;
  /** Deletes or restores a record of a lock by hand; returns whether it did. */
  tamper(random: SeededRandom): boolean;
  /** Deletes the row of a session which is old enough; returns the session's owner. */
  deleteSession(random: SeededRandom): string | undefined;
}

type Mishap = (victim: Incarnation) => void;

/** Faults of processes, machines and the whole table, in addition to faults of single requests. */
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

  /** Faults of every process's requests. */
  readonly commonScript: FaultScript = (request, ordinal) => this.#common?.(request, ordinal);

  /** Strikes with a mishap, drawn for this kind of plan. */
  strike(): void {
    const { live, plan, longHold } = this.#scenery;
    const all = [...live.values()];
    const drawn = all[this.#random.integer(0, all.length - 1)];
    const isAimed = plan.world?.hasCoarseClocks === true && this.#random.chance(0.5);
    const victim = isAimed ? (longHold() ?? drawn) : drawn;
    if (victim === undefined || victim.process.state !== "running") return;
    this.#draw()(victim);
  }

  /** Starts no new mishap; mishaps in progress end as planned. */
  end(): void {
    this.#common = undefined;
  }

  #draw(): Mishap {
    switch (this.#scenery.plan.kind) {
      case "calm":
      case "calm world":
      case "late world":
        return () => undefined;
      case "crash":
      case "crashing world":
        return this.#kill;
      case "tampered world":
        return this.#random.chance(0.6) ? this.#tamper : this.#drawOf(TAMPERED);
      case "one fault":
        return this.#oneFault;
      case "deleted":
        return this.#random.chance(0.5) ? this.#delete : this.#deleteSession;
      case "sessions":
        return this.#drawOf(this.#isTame ? TAME_SESSIONS : SESSIONS);
      case "cloned world":
        // In no other kind: one draw more would change the runs of the seeds that once failed.
        if (this.#random.chance(0.1)) return this.#losePartition;
        return this.#drawOf(weightsOf(this.#scenery.plan));
      case "world":
      case "aged world":
        return this.#drawOf(weightsOf(this.#scenery.plan));
      case "snapshot":
        return this.#random.chance(0.5) ? this.#snapshot : this.#drawOf(CROWD);
      case "duel":
        return this.#drawOf(DUEL);
      default:
        return this.#drawOf(CROWD);
    }
  }

  get #isTame(): boolean {
    return Object.keys(this.#scenery.plan.faults.faults).length === 0;
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
    // Only the boot clock of the machine shows the suspend, and only to the second.
    const isCoarse = this.#scenery.plan.world?.hasCoarseClocks === true;
    if (isCoarse && frozen === "monotonic") this.#stepBack(victim);
  };

  // Until just after the lease of a holder, for less than a step of the boot clock: then a rival has taken over, and a
  // holder that forgets the step still acts.
  readonly #oversleep: Mishap = () => {
    const { expiring, live, time } = this.#scenery;
    const holds = expiring().filter(({ by, endMs }) => {
      return endMs > time.nowMs && live.get(by)?.process.state === "running";
    });
    if (holds.length === 0) return;
    const { by, endMs } = holds[this.#random.integer(0, holds.length - 1)] as Expiring;
    const holder = live.get(by) as Incarnation;
    const lastsMs = endMs + COARSE_STEP_MS * this.#random.fraction() - time.nowMs;
    this.#suspend(holder, "monotonic", "suspended until after the lease", lastsMs);
    this.#stepBack(holder);
  };

  #stepBack(victim: Incarnation): void {
    this.#scenery.happened("wall clock stepped back", victim);
    victim.process.stepWall(-30_000);
  }

  readonly #snapshot: Mishap = (victim) => this.#suspend(victim, "all", "frozen with all clocks");

  #suspend(
    victim: Incarnation,
    frozen: "none" | "monotonic" | "all",
    fault: string,
    lastsMs = this.#pauseMs(),
  ): void {
    const { happened } = this.#scenery;
    happened(fault, victim);
    victim.happened("hindered");
    victim.process.pause({ frozen });
    this.#later(lastsMs, () => {
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

  // While no request arrives, or no answer comes back, only the deadline ends the holder's lease.
  readonly #cut: Mishap = (victim) => {
    const fault = this.#random.chance(0.5) ? "request-lost" : "response-lost";
    const hears = this.#random.chance(0.5) ? { unknownAfterMs: 1 } : {};
    this.#scenery.happened(`cut off: every ${fault.replace("-", " ")}`, victim);
    this.#hinder(victim);
    victim.script = () => ({ fault, ...hears });
    this.#later(this.#aWhile(), () => this.#heal(victim));
  };

  // Slow, and then cut off: the last answer was late, so the start of the deadline matters.
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

  // The whole table fails, or restarts: no client knows which requests were applied.
  readonly #outage: Mishap = () => {
    this.#scenery.happened("outage of the table", undefined);
    const refuses = this.#random.chance(0.3);
    const hears = this.#random.chance(0.5) ? { unknownAfterMs: 1 } : {};
    const script = (): Fault => {
      if (refuses) return { fault: "throttled" };
      return { fault: this.#random.chance(0.7) ? "request-lost" : "response-lost", ...hears };
    };
    this.#failForAll(script, this.#aWhile());
  };

  // The record of a lock, or its queue, for longer than a lease: the other requests of the same calls are served.
  readonly #losePartition: Mishap = () => {
    const { plan, happened } = this.#scenery;
    const name = plan.names[this.#random.integer(0, plan.names.length - 1)];
    const pk = `${this.#random.chance(0.5) ? "lock" : "queue"}#${name}`;
    happened("outage of a record or of its queue", undefined);
    const fault = this.#random.chance(0.5) ? "request-lost" : "throttled";
    const isHit: FaultScript = (request) =>
      keysOf(request).some((key) => textIn(key, "pk") === pk) ? { fault } : undefined;
    this.#failForAll(isHit, plan.leaseMs[1] * (1.1 + this.#random.fraction()));
  };

  #failForAll(script: FaultScript, lastsMs: number): void {
    this.#outages += 1;
    this.#common = script;
    const victims = [...this.#scenery.live.values()];
    for (const victim of victims) this.#hinder(victim);
    const outage = this.#outages;
    this.#later(lastsMs, () => {
      if (outage === this.#outages) this.#common = undefined;
      for (const victim of victims) this.#free(victim);
    });
  }

  // Hits the next writer. Only faults which end with the answer: a late copy would create a holder which rivals have
  // to watch.
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

  readonly #tamper: Mishap = () => {
    const { happened, tamper } = this.#scenery;
    if (tamper(this.#random)) happened("record changed by hand", undefined);
  };

  readonly #delete: Mishap = () => {
    const { plan, happened, deleteRecord } = this.#scenery;
    const name = plan.names[this.#random.integer(0, plan.names.length - 1)];
    if (name !== undefined && deleteRecord(name)) happened("deleted by hand", undefined);
  };

  // Its process may die of the deletion, so rivals have to handle the locks on the session.
  readonly #deleteSession: Mishap = (victim) => {
    const { plan, live, happened, deleteSession } = this.#scenery;
    const owner = deleteSession(this.#random);
    if (owner === undefined) return;
    happened("session deleted by hand", undefined);
    if (plan.kind !== "sessions") return;
    const owning = live.get(owner);
    if (owning?.process.state === "running" && this.#random.chance(0.5)) this.#kill(owning);
    // A rival which finds the row absent writes an ended row, and then ends the session: few rivals ever do.
    if (victim !== owning) this.#dropAnswersTo(victim, [undefined, ENDED, ENTOMBED, ENTOMBED]);
  };

  // For a while, loses every second answer to the process's session writes, or every answer to one kind of these
  // writes: the table carried out all of them.
  readonly #dropAnswers: Mishap = (victim) =>
    this.#dropAnswersTo(victim, [undefined, MOVE, ENDED, ENTOMBED]);

  readonly #dropAnswersTo = (
    victim: Parameters<Mishap>[0],
    steps: readonly (string | undefined)[],
  ): void => {
    const { plan, happened } = this.#scenery;
    const only = steps[this.#random.integer(0, steps.length - 1)];
    happened("answers to what it writes of sessions lost", victim);
    this.#hinder(victim);
    victim.script = (request): Fault | undefined => {
      const step = request.kind === "write" ? sessionStepOf(request.write) : undefined;
      if (step === undefined) return undefined;
      if (only === undefined ? this.#random.chance(0.5) : step !== only) return undefined;
      happened(`answer lost: ${step}`, victim);
      return { fault: "response-lost", ...(this.#random.chance(0.5) ? { unknownAfterMs: 1 } : {}) };
    };
    this.#later(plan.leaseMs[1] + this.#aWhile(), () => this.#heal(victim));
  };

  // Each answer takes from half to nearly all of its request's timeout, for longer than a call without a wait may take.
  readonly #slowAnswers: Mishap = (victim) => {
    const { plan, happened } = this.#scenery;
    happened("slow answers", victim);
    this.#hinder(victim);
    const delayMs = plan.requestTimeoutMs * (0.5 + 0.45 * this.#random.fraction());
    victim.script = () => ({ fault: "delayed", delayMs });
    const lastsMs = plan.leaseMs[1] + 14 * plan.requestTimeoutMs;
    this.#later(lastsMs, () => this.#heal(victim));
  };

  // For longer than a lease, no deletion arrives.
  readonly #loseDeletions: Mishap = (victim) => {
    const { plan, happened } = this.#scenery;
    happened("deletions lost", victim);
    this.#hinder(victim);
    victim.script = (request) => {
      const isDeletion = request.kind === "write" && request.write.as === "delete";
      return isDeletion ? { fault: "request-lost" } : undefined;
    };
    const lastsMs = plan.leaseMs[1] * (1.1 + this.#random.fraction());
    this.#later(lastsMs, () => this.#heal(victim));
  };

  // As when credentials expire: DynamoDB refuses every request for seconds, and serves the process again afterwards.
  readonly #refuseCredentials: Mishap = (victim) => {
    this.#scenery.happened("credentials refused", victim);
    this.#hinder(victim);
    victim.script = () => ({ fault: "misconfigured", error: EXPIRED });
    this.#later(this.#aWhile(), () => this.#heal(victim));
  };

  // As when the permission for some writes is missing, or a token expires just between two requests.
  readonly #refuseWrites: Mishap = (victim) => {
    this.#scenery.happened("some writes refused", victim);
    this.#hinder(victim);
    const part = 0.05 + 0.4 * this.#random.fraction();
    victim.script = ({ kind }) =>
      (kind === "write" || kind === "transact") && this.#random.chance(part)
        ? { fault: "misconfigured", error: EXPIRED }
        : undefined;
    this.#later(2 * this.#aWhile(), () => this.#heal(victim));
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
    deleteSession: this.#deleteSession,
    dropAnswers: this.#dropAnswers,
    slowAnswers: this.#slowAnswers,
    loseDeletions: this.#loseDeletions,
    oversleep: this.#oversleep,
    refuseCredentials: this.#refuseCredentials,
    refuseWrites: this.#refuseWrites,
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

  // In a world, often just as long as a lease: then the processes that take over are at work.
  #pauseMs(): number {
    const { world, leaseMs } = this.#scenery.plan;
    if (world === undefined || this.#random.chance(0.5)) return this.#aWhile();
    return leaseMs[0] * (0.7 + 0.5 * this.#random.fraction());
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
  readonly deleteSession: number;
  readonly dropAnswers: number;
  readonly slowAnswers: number;
  readonly loseDeletions: number;
  readonly oversleep: number;
  readonly refuseCredentials: number;
  readonly refuseWrites: number;
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
  deleteSession: 0,
  dropAnswers: 0,
  slowAnswers: 0,
  loseDeletions: 0,
  oversleep: 0,
  refuseCredentials: 0,
  refuseWrites: 0,
};

const WORLD: Weights = { ...CROWD, slowAnswers: 4, loseDeletions: 6, refuseCredentials: 4 };

// Only a suspend shows the steps of a boot clock.
const COARSE: Weights = { ...WORLD, pause: 15, oversleep: 15 };

const SLOW: Weights = { ...WORLD, slowAnswers: 30 };

function weightsOf({ world }: Plan): Weights {
  const weights =
    world?.hasCoarseClocks === true ? COARSE : world?.answersSlowly === true ? SLOW : WORLD;
  return world?.keepsSessions === true ? { ...weights, refuseWrites: 10 } : weights;
}

const SESSIONS: Weights = { ...CROWD, deleteSession: 3, dropAnswers: 4 };

const TAME_SESSIONS: Weights = {
  kill: 1,
  pause: 0,
  stopMonotonic: 0,
  stepWall: 0,
  cut: 2,
  slowThenCut: 0,
  changeRate: 0,
  outage: 0,
  deleteSession: 2,
  dropAnswers: 5,
  slowAnswers: 0,
  loseDeletions: 0,
  oversleep: 0,
  refuseCredentials: 0,
  refuseWrites: 0,
};

const TAMPERED: Weights = { ...CROWD, stopMonotonic: 0, stepWall: 0, changeRate: 0, outage: 0 };

const DUEL: Weights = {
  kill: 0,
  pause: 0,
  stopMonotonic: 0.5,
  stepWall: 0,
  cut: 4,
  slowThenCut: 3,
  changeRate: 0,
  outage: 0.3,
  deleteSession: 0,
  dropAnswers: 0,
  slowAnswers: 0,
  loseDeletions: 0,
  oversleep: 0,
  refuseCredentials: 0,
  refuseWrites: 0,
};
