import { fairLock, isHoldfastError, mutex } from "../../../packages/holdfast/src/index.js";
import type { SeededRandom } from "../../../packages/testing/src/time/seeded-random.js";
import { type Machine, Site } from "../machine.js";

/** A wait in which too many others were granted the lock, or two holders at once. */
interface StarvationViolation {
  readonly invariant: "exclusion" | "starvation";
  readonly atMs: number;
  readonly what: string;
}

/** The result of one run. */
export interface StarvationOutcome {
  readonly violations: readonly StarvationViolation[];
  readonly grants: number;
  /** The most grants to others during one wait. */
  readonly mostPassed: number;
}

type Kind = "mutex" | "fairLock";

const NAME = "a";
const LENGTH_MS = 120_000;
const LEASE_MS = 10_000;

// The promise of docs/safety.md: a mutex's waiter takes a place after so many grants to others.
const GRANTS_BEFORE_PLACE = 16;
// A waiter that has not seen a grant yet reads the record at this interval, so it counts late.
const SLOWEST_POLL_MS = { mutex: 2_000, fairLock: 0 };
// A refused claim, the permission's test, the ticket and the entry, each of which may be lost once and sent again.
const REQUESTS_BEFORE_PLACE = 10;
const REQUEST_TIMEOUT_MS = 1_000;

/** A process: the latency of its requests, and whether it acquires the lock again right after a release. */
interface Contender {
  readonly machine: Machine;
  readonly roundTripMs: number;
  readonly isGreedy: boolean;
  readonly random: SeededRandom;
}

/**
 * Processes with slow and fast ways to the table contend for one lock. Greedy processes acquire the lock again directly
 * after each release.
 */
class Starvation extends Site {
  readonly violations: StarvationViolation[] = [];
  grants = 0;
  mostPassed = 0;
  readonly #kind: Kind;
  readonly #contenders: readonly Contender[];
  readonly #holdMs: number;
  #believers = 0;
  #isOver = false;

  constructor(seed: number, kind: Kind) {
    super(seed);
    this.#kind = kind;
    this.#holdMs = this.random.integer(5, 60);
    const count = this.random.integer(2, 7);
    this.#contenders = Array.from({ length: count }, () => this.#contender());
  }

  #contender(): Contender {
    const random = this.random.fork();
    // Some are in the table's region, some on the other side of the world.
    const roundTripMs = random.chance(0.5) ? random.integer(2, 10) : random.integer(50, 300);
    const machine = this.start({
      random,
      latencyMs: () => (roundTripMs / 2) * (0.8 + 0.4 * random.fraction()),
      wired: (network) => {
        const faults = random.fork();
        network.script(() => (faults.chance(0.01) ? { fault: "response-lost" } : undefined));
        return network;
      },
      client: { lease: LEASE_MS, requestTimeout: REQUEST_TIMEOUT_MS },
    });
    return { machine, roundTripMs, isGreedy: random.chance(0.6), random };
  }

  async run(): Promise<void> {
    const done = Promise.all(this.#contenders.map((one) => this.#contend(one)));
    await this.time.advance(LENGTH_MS);
    this.#isOver = true;
    await this.time.runUntil(done);
  }

  async #contend(one: Contender): Promise<void> {
    await one.machine.sleep(500 * one.random.fraction());
    while (!this.#isOver) {
      const askedMs = this.time.nowMs;
      const before = this.grants;
      const lease = await { mutex, fairLock }
        [this.#kind](one.machine.locks, NAME)
        .acquire({ wait: Number.POSITIVE_INFINITY });
      this.#believers += 1;
      if (this.#believers > 1)
        this.#violate("exclusion", `${one.machine.name} holds beside another`);
      if (!this.#isOver) this.#passed(one, this.grants - before, this.time.nowMs - askedMs);
      this.grants += 1;
      await one.machine.sleep(this.#holdMs * (0.5 + one.random.fraction()));
      this.#believers -= 1;
      // An answer may be lost twice.
      await lease.release().catch((error: unknown) => {
        if (!isHoldfastError(error, "outcome-unknown")) throw error;
      });
      if (!one.isGreedy) await one.machine.sleep(4 * this.#holdMs * one.random.fraction());
    }
    await one.machine.locks.close();
  }

  #passed(one: Contender, passed: number, waitedMs: number): void {
    this.mostPassed = Math.max(this.mostPassed, passed);
    const bound = this.#boundFor(one);
    if (passed <= bound) return;
    const how = `${one.machine.name}, ${one.roundTripMs} ms from the table, waited ${waitedMs.toFixed(0)} ms`;
    this.#violate("starvation", `${how} and ${passed} grants to others; ${bound} at most`);
  }

  /**
   * How many grants others may get before a waiting process joins the queue, and how many between this and its turn.
   */
  #boundFor({ roundTripMs }: Contender): number {
    const fastest = Math.min(...this.#contenders.map((each) => each.roundTripMs));
    const shortestGrantMs = this.#holdMs / 2 + fastest;
    const placeMs =
      SLOWEST_POLL_MS[this.#kind] +
      REQUESTS_BEFORE_PLACE * 1.2 * roundTripMs +
      3 * REQUEST_TIMEOUT_MS;
    const promised = this.#kind === "mutex" ? GRANTS_BEFORE_PLACE : 0;
    return promised + Math.ceil(placeMs / shortestGrantMs) + this.#contenders.length;
  }

  #violate(invariant: StarvationViolation["invariant"], what: string): void {
    this.violations.push({ invariant, atMs: this.time.nowMs, what });
  }
}

/** Runs one seed. */
export async function simulateStarvation(seed: number, kind: Kind): Promise<StarvationOutcome> {
  const starvation = new Starvation(seed, kind);
  await starvation.run();
  const { violations, grants, mostPassed } = starvation;
  return { violations, grants, mostPassed };
}
