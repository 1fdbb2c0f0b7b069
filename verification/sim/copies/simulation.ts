import { createHash } from "node:crypto";
import { Holdfast, isHoldfastError } from "../../../src/index.js";
import { FaultyTable } from "../../../src/testing/faults/faults.js";
import { MemoryTable } from "../../../src/testing/table/memory-table.js";
import { type SeededRandom, seededRandom } from "../../../src/testing/time/seeded-random.js";
import type { VirtualProcess } from "../../../src/testing/time/virtual-process.js";
import { VirtualTime } from "../../../src/testing/time/virtual-time.js";
import { copiedRandom } from "../copied-random.js";

/** The result of one run. */
export interface CopiesOutcome {
  /** Overlapping holders, and fences or ids which two grants share. */
  readonly violations: readonly string[];
  readonly grants: number;
  readonly faults: number;
  /** The hash of the history, equal for equal seeds. */
  readonly hash: string;
}

/** A grant to a copy, of a mutex or of several locks. */
interface Taken {
  readonly isHeld: boolean;
  readonly grants: readonly string[];
  release(): Promise<void>;
}

const NAMES = ["a", "b"];
const COPIES = 3;

/**
 * Processes restored from one snapshot: all have the same generator state, so all draw the same bytes in the same
 * order. They take the same locks in virtual time, over a network which loses, delays and doubles requests.
 */
class CopiesSimulation {
  readonly #lengthMs: number;
  readonly #time = new VirtualTime();
  readonly #random: SeededRandom;
  readonly #snapshot: number;
  readonly #leaseMs: number;
  readonly #faultRate: number;
  readonly #table: MemoryTable;
  readonly #networks: FaultyTable[] = [];
  readonly #hash = createHash("sha256");
  readonly #held = new Map<string, Set<Taken>>(NAMES.map((name) => [name, new Set()]));
  readonly #granted = new Set<string>();
  readonly #violations: string[] = [];
  #grants = 0;
  #isOver = false;

  constructor(seed: number, lengthMs: number) {
    this.#lengthMs = lengthMs;
    this.#random = seededRandom(seed);
    this.#snapshot = this.#random.integer(1, 1_000_000);
    this.#leaseMs = this.#random.integer(1_500, 4_000);
    this.#faultRate = this.#random.chance(0.4) ? 0 : 0.15 * this.#random.fraction();
    this.#table = new MemoryTable({
      time: this.#time,
      keepsLog: false,
      onChange: ({ atMs, after }) => {
        this.#hash.update(`${atMs} ${JSON.stringify(after)}\n`);
        this.#checkHolders();
      },
    });
  }

  async run(): Promise<CopiesOutcome> {
    for (let copy = 0; copy < COPIES; copy += 1) this.#restore();
    while (this.#time.nowMs < this.#lengthMs) {
      await this.#time.advance(250);
      this.#checkHolders();
    }
    this.#isOver = true;
    const faults = this.#networks
      .flatMap(({ injected }) => Object.values(injected))
      .reduce((sum, times) => sum + times, 0);
    const hash = this.#hash.digest("hex");
    return { violations: this.#violations, grants: this.#grants, faults, hash };
  }

  #restore(): void {
    const own = this.#random.fork();
    const wallOffsetMs = own.fraction() * 50;
    const process = this.#time.process({ wallOffsetMs });
    const latency = (): number => 1 + 20 * own.fraction();
    const network = new FaultyTable(this.#table, process, {
      latency: () => ({ requestMs: latency(), responseMs: latency() }),
    });
    const each = this.#faultRate / 5;
    const faults = {
      "request-lost": each,
      "response-lost": each,
      "response-lost-and-retried": each,
      "applied-late": each,
      duplicated: each,
    };
    network.random(own.fork(), { faults, longestDelayMs: 3_000 });
    this.#networks.push(network);
    const locks = new Holdfast({
      client: network,
      table: "locks",
      requestTimeout: 300,
      lease: this.#leaseMs,
      poll: { min: 20, max: 200 },
      onError: () => undefined,
      environment: {
        clock: process.clock,
        timers: process.timers,
        random: copiedRandom(() => this.#time.wallMs + wallOffsetMs, this.#snapshot),
      },
    });
    void this.#takes(locks, process, own.fork());
  }

  async #takes(locks: Holdfast, process: VirtualProcess, random: SeededRandom): Promise<void> {
    while (!this.#isOver) {
      await sleep(process, 400 * random.fraction());
      const names = NAMES.filter(() => random.chance(0.7));
      const taken = await take(locks, names, 3 * this.#leaseMs).catch(expected);
      if (taken === undefined) continue;
      this.#begin(names, taken);
      await sleep(process, random.chance(0.2) ? this.#leaseMs : 200 * random.fraction());
      for (const name of names) this.#held.get(name)?.delete(taken);
      await taken.release().catch(() => undefined);
    }
  }

  #begin(names: readonly string[], taken: Taken): void {
    this.#grants += 1;
    for (const name of names) this.#held.get(name)?.add(taken);
    for (const grant of taken.grants) {
      if (this.#granted.has(grant)) this.#violations.push(`granted twice: ${grant}`);
      this.#granted.add(grant);
    }
    this.#checkHolders();
  }

  #checkHolders(): void {
    for (const [name, held] of this.#held) {
      const believers = [...held].filter(({ isHeld }) => isHeld).length;
      if (believers > 1) this.#violations.push(`${believers} hold ${name} at ${this.#time.nowMs}`);
    }
  }
}

async function take(
  locks: Holdfast,
  names: readonly string[],
  wait: number,
): Promise<Taken | undefined> {
  if (names.length === 0) return undefined;
  if (names.length > 1) {
    const lease = await locks.multiLock([...names]).acquire({ wait });
    const grants = [...lease.holders].flatMap(([name, holder]) => [
      `${name} ${holder}`,
      `${name} ${lease.fences.get(name)}`,
    ]);
    return Object.assign(lease, { grants });
  }
  const [name = ""] = names;
  const lease = await locks.mutex(name).acquire({ wait });
  return Object.assign(lease, {
    grants: [`${name} ${lease.holder}`, `${name} ${lease.fence}`],
  });
}

function sleep({ timers }: VirtualProcess, ms: number): Promise<void> {
  return new Promise((resolve) => timers.set(ms, true, () => resolve()));
}

// The error codes of contention and a bad network; all further codes are defects of the library.
const EXPECTED = ["not-acquired", "unreachable", "throttled", "lost", "outcome-unknown"];

function expected(error: unknown): undefined {
  if (isHoldfastError(error) && EXPECTED.includes(error.code)) return undefined;
  throw error;
}

/** Runs one seed. */
export function simulateCopies(seed: number, lengthMs: number): Promise<CopiesOutcome> {
  return new CopiesSimulation(seed, lengthMs).run();
}
