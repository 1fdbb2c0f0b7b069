import type { LockFormat } from "../../holdfast/src/core/record/format-types.js";
import { Holdfast, type Lease, mutex } from "../../holdfast/src/index.js";
import { FaultyTable } from "../../testing/src/faults/faults.js";
import { DatedTable } from "../../testing/src/table/dated-table.js";
import { MemoryTable } from "../../testing/src/table/memory-table.js";
import { type SeededRandom, seededRandom } from "../../testing/src/time/seeded-random.js";
import type { VirtualProcess } from "../../testing/src/time/virtual-process.js";
import { VirtualTime } from "../../testing/src/time/virtual-time.js";
import { awsLockClient, dynamolock, lockClientFailOpen } from "../src/index.js";

const KEPT = { observations: "companion" } as const;
const FORMATS = [awsLockClient(KEPT), dynamolock(KEPT), lockClientFailOpen(KEPT)] as const;
const LEASE_MS = 3_000;
const BOUND_MS = 2_000;
const DRIFT = 0.01;

/** The result of one run. */
export interface SightingOutcome {
  /** Instants at which two processes believed to hold the lock. */
  readonly violations: readonly string[];
  readonly grants: number;
  /** Grants over the record of a holder that did not release. */
  readonly takeovers: number;
}

interface Life {
  readonly process: VirtualProcess;
  lease: Lease<never> | undefined;
}

/**
 * Processes that live for less than a lease try to acquire one lock in virtual time; some die or pause while they hold it.
 * Each answer has the `Date` of a random server, requests are lost, late and doubled, wall clocks are wrong by hours,
 * and all clocks drift within the bound. `disagreement`: how far two servers differ, in parts of `maxClockError`.
 */
export class SightingSimulation {
  readonly #time = new VirtualTime();
  readonly #random: SeededRandom;
  readonly #table: MemoryTable;
  readonly #service: DatedTable;
  readonly #format: LockFormat<never>;
  readonly #lives: Life[] = [];
  readonly #violations: string[] = [];
  #grants = 0;
  #takeovers = 0;
  #holder: Life | undefined;

  constructor(seed: number, disagreement = 1) {
    this.#random = seededRandom(seed);
    this.#format = FORMATS[seed % FORMATS.length] as unknown as LockFormat<never>;
    const isFailOpen = this.#format.name === "lock-client-fail-open";
    const lag = this.#random.fork();
    this.#table = new MemoryTable({
      keyAttributes: [isFailOpen ? "id" : "key"],
      time: this.#time,
      tellsDate: false,
      lagMs: () => (lag.chance(0.5) ? 0 : LEASE_MS * lag.fraction()),
      keepsLog: false,
    });
    const server = this.#random.fork();
    const apartMs = disagreement * BOUND_MS;
    this.#service = new DatedTable(
      this.#table,
      () => this.#time.wallMs + apartMs * (server.fraction() - 0.5),
    );
  }

  async run(lengthMs: number): Promise<SightingOutcome> {
    while (this.#time.nowMs < lengthMs) {
      void this.#live(this.#random.fork());
      await this.#time.advance(1_500 * this.#random.fraction());
    }
    const { length } = this.#violations;
    return {
      violations: this.#violations.slice(0, Math.min(length, 5)),
      grants: this.#grants,
      takeovers: this.#takeovers,
    };
  }

  async #live(random: SeededRandom): Promise<void> {
    const process = this.#time.process({
      wallOffsetMs: random.integer(-5 * 3_600_000, 5 * 3_600_000),
      rate: 1 + DRIFT * (2 * random.fraction() - 1),
    });
    const life: Life = { process, lease: undefined };
    const latency = (): number => 1 + 30 * random.fraction();
    const network = new FaultyTable(this.#service, process, {
      latency: () => ({ requestMs: latency(), responseMs: latency() }),
    });
    const each = random.chance(0.5) ? 0 : 0.04;
    const faults = {
      ...{ "request-lost": each, "response-lost": each, "applied-late": each },
      ...{ duplicated: each, reordered: each, stale: each },
    };
    network.random(random.fork(), { faults, longestDelayMs: 20_000 });
    const locks = new Holdfast<never>({
      client: network,
      table: "locks",
      format: this.#format,
      requestTimeout: "300ms",
      lease: LEASE_MS,
      maxClockError: BOUND_MS,
      poll: { min: "50ms", max: "500ms" },
      onError: () => undefined,
      environment: { clock: process.clock, timers: process.timers, random: random.fork() },
    });
    const wait = random.chance(0.5) ? 0 : 800 * random.fraction();
    const acquiring = mutex(locks, "a" as never).acquire({ wait: `${wait}ms` });
    const lease = await acquiring.catch(() => undefined);
    if (lease === undefined) return process.kill();
    this.#granted(life, lease);
    await this.#sleep(life, 2.5 * LEASE_MS * random.fraction());
    if (random.chance(0.4)) return this.#end(life);
    if (random.chance(0.3)) {
      const frozen = random.chance(0.5) ? "none" : "monotonic";
      process.pause({ frozen });
      this.#time.timers.set(4 * LEASE_MS * random.fraction(), true, () => process.resume());
      await this.#sleep(life, 100);
    }
    await lease.release().catch(() => undefined);
    if (this.#holder === life) this.#holder = undefined;
    this.#end(life);
  }

  #granted(life: Life, lease: Lease<never>): void {
    this.#grants += 1;
    if (this.#holder !== undefined) this.#takeovers += 1;
    this.#holder = life;
    life.lease = lease;
    for (const other of this.#lives) {
      if (other.lease?.isHeld !== true) continue;
      this.#violations.push(`${other.lease.owner} at ${this.#time.nowMs}`);
    }
    this.#lives.push(life);
  }

  // A killed process believes nothing.
  #end(life: Life): void {
    life.lease = undefined;
    life.process.kill();
  }

  #sleep({ process }: Life, ms: number): Promise<void> {
    return new Promise((resolve) => process.timers.set(ms, true, () => resolve()));
  }
}
