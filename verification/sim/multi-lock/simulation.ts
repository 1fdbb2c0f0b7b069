import { createHash } from "node:crypto";
import { Holdfast, isHoldfastError, type Lease, type MultiLease } from "../../../src/index.js";
import { FaultyTable } from "../../../src/testing/faults/faults.js";
import { MemoryTable, type TamperableTable } from "../../../src/testing/table/memory-table.js";
import { type SeededRandom, seededRandom } from "../../../src/testing/time/seeded-random.js";
import type { VirtualProcess } from "../../../src/testing/time/virtual-process.js";
import { VirtualTime } from "../../../src/testing/time/virtual-time.js";
import { Servers } from "../dates.js";
import { paced } from "../pacing.js";
import { numberIn, stringIn, ticketIn } from "../queue/checkers.js";
import { JointChecker, type JointViolation } from "./checkers.js";

/** Everything a seed decides before a run. */
export interface JointPlan {
  readonly seed: number;
  readonly lengthMs: number;
}

/** The result of one run. */
export interface JointOutcome {
  readonly violations: readonly JointViolation[];
  readonly grants: number;
  /** Grants of several locks together. */
  readonly jointGrants: number;
  readonly faults: number;
  readonly mishaps: number;
  /** The hash of the history, equal for equal seeds. */
  readonly hash: string;
}

const NAMES = ["a", "b", "c", "d", "e"];
const DRIFT = 0.01;
const POLL = { min: 100, max: 500 };
const MISHAP_EVERY_MS = 6_000;

type AnyLease = Lease | MultiLease;

interface Life {
  readonly name: string;
  readonly process: VirtualProcess;
  readonly network: FaultyTable;
  readonly locks: Holdfast;
  readonly held: Map<AnyLease, readonly string[]>;
  readonly workers: Promise<void>[];
  waiting: number;
}

/**
 * Processes acquire one, two or three of five locks in virtual time: transactions are lost, late and doubled, without
 * a token against double execution; processes are paused, and killed.
 */
class JointSimulation {
  readonly #plan: JointPlan;
  readonly #time = new VirtualTime();
  readonly #random: SeededRandom;
  readonly #leaseMs: number;
  readonly #servers: Servers;
  readonly #faultRate: number;
  readonly #table: MemoryTable;
  readonly #checker: JointChecker;
  readonly #lives: Life[] = [];
  readonly #hash = createHash("sha256");
  #started = 0;
  #mishaps = 0;
  #isOver = false;

  constructor(plan: JointPlan) {
    this.#plan = plan;
    this.#random = seededRandom(plan.seed);
    this.#leaseMs = this.#random.integer(2_000, 6_000);
    this.#servers = new Servers(plan.seed, this.#leaseMs);
    this.#faultRate = this.#random.chance(0.3) ? 0 : 0.15 * this.#random.fraction();
    this.#table = new MemoryTable({
      keyAttributes: ["pk", "sk"],
      time: this.#time,
      keepsLog: false,
      remembersTokens: false,
      lagMs: () => (this.#random.chance(0.2) ? 200 * this.#random.fraction() : 0),
      onChange: (change) => {
        this.#hash.update(`${change.atMs} ${JSON.stringify(change.after ?? change.key)}\n`);
        this.#checker.changed(change);
        this.#checkExclusion();
      },
    });
    this.#checker = new JointChecker((key) => this.#table.item(key));
  }

  async run(): Promise<JointOutcome> {
    const processes = this.#random.integer(2, 5);
    for (let index = 0; index < processes; index += 1) this.#start();
    for (let untilMs = 0; untilMs < this.#plan.lengthMs; ) {
      const pauseMs = 2 * MISHAP_EVERY_MS * this.#random.fraction();
      untilMs += pauseMs;
      await this.#time.advance(pauseMs);
      this.#strike();
    }
    await this.#settle();
    const injected = this.#lives.flatMap(({ network }) => Object.values(network.injected));
    return {
      violations: this.#checker.violations,
      grants: this.#checker.grants,
      jointGrants: this.#checker.jointGrants,
      faults: injected.reduce((sum, times) => sum + times, 0),
      mishaps: this.#mishaps,
      hash: this.#hash.digest("hex"),
    };
  }

  #start(): Life {
    this.#started += 1;
    const random = this.#random.fork();
    const process = this.#time.process({
      rate: random.chance(0.5) ? 1 + DRIFT : 1 - DRIFT,
      wallOffsetMs: random.integer(-60_000, 60_000),
    });
    const latency = (): number => 1 + 20 * random.fraction();
    const network = new FaultyTable(this.#service(), process, {
      latency: () => ({ requestMs: latency(), responseMs: latency() }),
    });
    const each = this.#faultRate / 7;
    const faults = {
      ...{ "request-lost": each, "response-lost": each, "response-lost-and-retried": each },
      ...{ "applied-late": each, duplicated: each, throttled: each, conflict: each },
    };
    network.random(random.fork(), { faults, longestDelayMs: 3_000 });
    const name = `p${this.#started}`;
    const locks = new Holdfast({
      client: paced(
        network,
        () => this.#time.nowMs,
        (what) => this.#checker.violate("paced", this.#time.nowMs, `${name} ${what}`),
      ),
      table: "locks",
      owner: name,
      maxClockDrift: DRIFT,
      ...this.#servers.options,
      requestTimeout: 500,
      lease: this.#leaseMs,
      sharedSession: random.chance(0.3),
      onError: () => undefined,
      environment: { clock: process.clock, timers: process.timers, random: random.fork() },
    });
    const held = new Map<AnyLease, readonly string[]>();
    const life: Life = { name, process, network, locks, held, workers: [], waiting: 0 };
    this.#lives.push(life);
    const workers = random.integer(1, 2);
    for (let index = 0; index < workers; index += 1) {
      life.workers.push(this.#work(life, random.fork()));
    }
    return life;
  }

  #service(): TamperableTable {
    return this.#servers.before(this.#port(), () => this.#time.wallMs);
  }

  #port(): TamperableTable {
    const table = this.#table;
    return {
      clockCorrectionMs: 0,
      write: async (write) => table.apply(write),
      transact: async (transaction) => {
        this.#checker.sent(transaction);
        return table.applyAll(transaction);
      },
      read: (read, call) => table.read(read, call),
      staleRead: (read, changesAgo) => table.staleRead(read, changesAgo),
      deleteItem: (key) => table.deleteItem(key),
      scan: (scan, call) => table.scan(scan, call),
      query: (query, call) => table.query(query, call),
    };
  }

  async #work(life: Life, random: SeededRandom): Promise<void> {
    const { process } = life;
    const sleep = (ms: number): Promise<void> =>
      new Promise((resolve) => process.timers.set(ms, true, () => resolve()));
    while (!this.#isOver) {
      await sleep(1_500 * random.fraction());
      const left = [...NAMES];
      const count = random.chance(0.2) ? 1 : random.integer(2, 3);
      const names = Array.from({ length: count }, () =>
        left.splice(random.integer(0, left.length - 1), 1),
      ).flat();
      const lease = await this.#take(life, names, random);
      if (lease === undefined) continue;
      life.held.set(lease, names);
      this.#checkExclusion();
      this.#checkFences(lease);
      await sleep((random.chance(0.1) ? 2 * this.#leaseMs : 400) * random.fraction());
      life.held.delete(lease);
      await lease.release().catch(expected);
    }
  }

  async #take(
    life: Life,
    names: readonly string[],
    random: SeededRandom,
  ): Promise<AnyLease | undefined> {
    const [name = ""] = names;
    const single = random.chance(0.5)
      ? life.locks.mutex(name, { poll: POLL })
      : life.locks.fairLock(name, { poll: POLL });
    const lock = names.length === 1 ? single : life.locks.multiLock(names, { poll: POLL });
    if (random.chance(0.1)) return (await lock.tryAcquire().catch(expected)) ?? undefined;
    const abort = new AbortController();
    if (random.chance(0.15)) {
      life.process.timers.set(3_000 * random.fraction(), false, () => abort.abort());
    }
    life.waiting += 1;
    try {
      return await lock.acquire({ wait: Number.POSITIVE_INFINITY, signal: abort.signal });
    } catch (error) {
      if (!abort.signal.aborted) expected(error);
      return undefined;
    } finally {
      life.waiting -= 1;
    }
  }

  // Checks that the handle's fences are the record's fences while the lease is held.
  #checkFences(lease: AnyLease): void {
    if (!("fences" in lease) || !lease.isHeld) return;
    for (const [name, fence] of lease.fences) {
      const record = this.#table.item({ pk: { S: `lock#${name}` }, sk: { S: "lease" } }) ?? {};
      if (stringIn(record, "holder") !== lease.holders.get(name)) continue;
      const shown = numberIn(record, "fence");
      if (shown === fence) continue;
      this.#checker.violate("told fence", this.#time.nowMs, `${name}: ${fence} is ${shown}`);
    }
  }

  /** Checks in true time: at most one process able to act believes to hold a name. */
  #checkExclusion(): void {
    const running = this.#lives.filter(({ process }) => process.state === "running");
    const held = running.flatMap(({ held }) => [...held].filter(([lease]) => lease.isHeld));
    const names = held.flatMap(([, names]) => names);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) this.#checker.violate("exclusion", this.#time.nowMs, twice);
  }

  #strike(): void {
    const running = this.#lives.filter(({ process }) => process.state === "running");
    const victim = running[this.#random.integer(0, running.length - 1)];
    if (victim === undefined || this.#random.chance(0.2)) return;
    this.#mishaps += 1;
    if (this.#random.chance(0.4)) {
      victim.process.kill();
      this.#start();
      return;
    }
    victim.process.pause({ frozen: this.#random.chance(0.3) ? "monotonic" : "none" });
    this.#time.timers.set(3 * this.#leaseMs * this.#random.fraction(), true, () => {
      if (victim.process.state !== "paused") return;
      victim.process.resume({ first: this.#random.chance(0.5) ? "io" : "timers" });
    });
  }

  /** Ends the faults; expects a grant for every waiter, and empty queues. */
  async #settle(): Promise<void> {
    this.#isOver = true;
    await this.#time.advance(3 * this.#leaseMs);
    const living = this.#lives.filter(({ process }) => process.state === "running");
    for (const { network } of living) network.clear();
    const waiting = living.reduce((sum, life) => sum + life.waiting, 0);
    const ended = Promise.all(living.flatMap(({ workers }) => workers));
    try {
      // For each waiter the lease of a dead holder, and its own turn.
      await this.#time.runUntil(ended, { limitMs: (waiting + 4) * 3 * this.#leaseMs });
      await this.#expectEmpty();
    } catch (error) {
      this.#checker.violate("no deadlock", this.#time.nowMs, String(error));
    }
  }

  // The first newcomer acquires all names; the second waits in the queues as found.
  async #expectEmpty(): Promise<void> {
    const [one, other] = [this.#start(), this.#start()];
    for (const { network } of [one, other]) network.clear();
    const take = ({ locks }: Life) =>
      locks.multiLock(NAMES, { poll: POLL }).acquire({ wait: "1h" });
    const limit = { limitMs: 10 * this.#leaseMs };
    const first = await this.#time.runUntil(take(one), limit);
    const second = take(other);
    await this.#time.advance(1_000);
    await this.#time.runUntil(first.release(), limit);
    await this.#time.runUntil((await this.#time.runUntil(second, limit)).release(), limit);
    await this.#time.advance(3_000);
    const left = this.#table.items().filter((item) => {
      const isLock = stringIn(item, "pk")?.startsWith("lock#") === true;
      return ticketIn(item) !== undefined || (isLock && stringIn(item, "holder") !== undefined);
    });
    if (left.length === 0) return;
    this.#checker.violate("nothing left", this.#time.nowMs, `${left.length} items`);
  }
}

// The error codes of contention and a bad network; all further codes are defects of the library.
const EXPECTED = ["not-acquired", "unreachable", "throttled", "closed", "lost", "outcome-unknown"];

function expected(error: unknown): undefined {
  if (isHoldfastError(error) && EXPECTED.includes(error.code)) return undefined;
  throw error;
}

/** Runs one plan to its end. */
export function simulateJoint(plan: JointPlan): Promise<JointOutcome> {
  return new JointSimulation(plan).run();
}
