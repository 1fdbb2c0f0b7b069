import { createHash } from "node:crypto";
import { nativeFormat } from "../../../src/formats/native.js";
import { Holdfast, isHoldfastError, type Permit } from "../../../src/index.js";
import { FaultyTable } from "../../../src/testing/faults/faults.js";
import { DatedTable } from "../../../src/testing/table/dated-table.js";
import { MemoryTable, type TableChange } from "../../../src/testing/table/memory-table.js";
import { type SeededRandom, seededRandom } from "../../../src/testing/time/seeded-random.js";
import type { VirtualProcess } from "../../../src/testing/time/virtual-process.js";
import { VirtualTime } from "../../../src/testing/time/virtual-time.js";

/** A broken promise of a semaphore or a read-write lock. */
export interface PermitViolation {
  readonly invariant:
    | "permits"
    | "counted"
    | "fence order"
    | "ownership"
    | "no lost waiter"
    | "nothing left"
    | "kept"
    | "error";
  readonly atMs: number;
  readonly what: string;
}

/** The result of one run. */
export interface PermitsOutcome {
  readonly violations: readonly PermitViolation[];
  readonly grants: number;
  readonly losses: number;
  readonly kills: number;
  readonly faults: number;
  /** The hash of the history, equal for equal seeds. */
  readonly hash: string;
}

const NAME = "a";
const KEYS = { pk: "pk", sk: "sk" };
const WHOLE = 1_000;
const MOST_DRIFT = 0.01;
const SERVERS_DIFFER_MS = 500;

/** Everything that a seed decides before a run. */
interface Plan {
  readonly kind: "semaphore" | "read-write";
  readonly limit: number;
  readonly leaseMs: number;
  readonly isCalm: boolean;
  readonly faultRate: number;
  readonly longestDelayMs: number;
  readonly killEveryMs: number;
  readonly workersEach: number;
  readonly processes: number;
}

function planOf(random: SeededRandom): Plan {
  const isCalm = random.chance(0.15);
  return {
    kind: random.chance(0.65) ? "semaphore" : "read-write",
    limit: random.integer(1, 7),
    leaseMs: random.integer(1_500, 5_000),
    isCalm,
    faultRate: isCalm || random.chance(0.3) ? 0 : random.chance(0.5) ? 0.03 : 0.15,
    longestDelayMs: random.chance(0.5) ? 1_000 : 8_000,
    killEveryMs: isCalm || random.chance(0.2) ? 0 : random.integer(1_000, 15_000),
    workersEach: random.integer(1, 4),
    processes: random.integer(2, 5),
  };
}

/** A process, from the start to the kill, or to the end of the run. */
interface Member {
  readonly name: string;
  readonly process: VirtualProcess;
  readonly network: FaultyTable;
  readonly locks: Holdfast;
  readonly random: SeededRandom;
  /** The permits handed out to this process, and not released by it. */
  readonly held: Set<Permit>;
  readonly work: Promise<void>[];
}

/** Processes contend for the permits of one name, over a faulty network; some are killed or paused. */
class PermitsSimulation {
  readonly violations: PermitViolation[] = [];
  grants = 0;
  losses = 0;
  kills = 0;
  readonly #plan: Plan;
  readonly #lengthMs: number;
  readonly #random: SeededRandom;
  readonly #time = new VirtualTime();
  readonly #table: MemoryTable;
  readonly #dated: DatedTable;
  readonly #permits = nativeFormat(KEYS).permits;
  readonly #members: Member[] = [];
  readonly #hash = createHash("sha256");
  #highestFence = 0n;
  #incarnations = 0;
  #isOver = false;
  #isQuiet: () => void = () => undefined;
  readonly #quiet = new Promise<void>((resolve) => {
    this.#isQuiet = resolve;
  });

  constructor(seed: number, lengthMs: number) {
    this.#random = seededRandom(seed);
    this.#plan = planOf(this.#random);
    this.#lengthMs = lengthMs;
    this.#table = new MemoryTable({
      keyAttributes: ["pk", "sk"],
      time: this.#time,
      keepsLog: false,
      onChange: (change) => this.#changed(change),
    });
    const servers = this.#random.fork();
    const dateOf = (): number => {
      const aheadMs = servers.chance(0.5) ? 0 : SERVERS_DIFFER_MS;
      return Math.floor((this.#time.wallMs + aheadMs) / 1_000) * 1_000;
    };
    this.#dated = new DatedTable(this.#table, dateOf);
  }

  async run(): Promise<PermitsOutcome> {
    for (let at = 0; at < this.#plan.processes; at += 1) this.#start();
    const untilMs = this.#time.nowMs + this.#lengthMs;
    while (this.#time.nowMs < untilMs) {
      await this.#time.advance(this.#plan.killEveryMs || this.#lengthMs);
      if (this.#plan.killEveryMs > 0) this.#mishap();
    }
    await this.#settle().catch((error: unknown) => this.#violate("error", String(error)));
    const { violations, grants, losses, kills } = this;
    const faults = this.#members.reduce((sum, { network }) => sum + countOf(network), 0);
    const hash = this.#hash.digest("hex");
    return { violations, grants, losses, kills, faults, hash };
  }

  #start(): void {
    const random = this.#random.fork();
    const rate = 1 + MOST_DRIFT * (2 * random.fraction() - 1) * 0.9;
    const process = this.#time.process({ rate, wallOffsetMs: random.integer(-60_000, 60_000) });
    const network = new FaultyTable(this.#dated, process, {
      latency: () => ({ requestMs: 20 * random.fraction(), responseMs: 20 * random.fraction() }),
    });
    this.#addFaults(network, random.fork());
    const name = `p${this.#incarnations}`;
    this.#incarnations += 1;
    const { leaseMs } = this.#plan;
    const locks = new Holdfast({
      client: network,
      table: "locks",
      owner: name,
      lease: leaseMs,
      requestTimeout: 1_000,
      maxClockDrift: MOST_DRIFT,
      maxClockError: 2 * SERVERS_DIFFER_MS,
      onError: () => undefined,
      environment: { clock: process.clock, timers: process.timers, random: random.fork() },
    });
    const member: Member = {
      ...{ name, process, network, locks, random },
      held: new Set(),
      work: [],
    };
    this.#members.push(member);
    for (let worker = 0; worker < this.#plan.workersEach; worker += 1) {
      const working = this.#work(member, random.fork());
      member.work.push(working);
      working.catch((error: unknown) => {
        this.#violate("error", `${name}: ${error instanceof Error ? error.stack : String(error)}`);
      });
    }
  }

  #addFaults(network: FaultyTable, random: SeededRandom): void {
    const { faultRate, longestDelayMs } = this.#plan;
    if (faultRate === 0) return;
    network.random(random, {
      faults: {
        "request-lost": faultRate / 5,
        "response-lost": faultRate / 5,
        "response-lost-and-retried": faultRate / 10,
        "applied-late": faultRate / 5,
        duplicated: faultRate / 10,
        reordered: faultRate / 20,
        delayed: faultRate / 20,
        throttled: faultRate / 20,
        stale: faultRate / 20,
      },
      longestDelayMs,
    });
  }

  async #work(member: Member, random: SeededRandom): Promise<void> {
    while (!this.#isOver) {
      await this.#sleep(member, 400 * random.fraction());
      const permit = await this.#acquire(member, random);
      if (permit === undefined) continue;
      this.#handedOut(member, permit);
      const isLong = random.chance(0.05);
      await this.#sleep(member, isLong ? 2 * this.#plan.leaseMs : 300 * random.fraction());
      await this.#end(member, permit, random);
    }
  }

  async #acquire(member: Member, random: SeededRandom): Promise<Permit | undefined> {
    const { kind, limit, leaseMs } = this.#plan;
    const gives = random.chance(0.1) ? new AbortController() : undefined;
    if (gives !== undefined) {
      member.process.timers.set(leaseMs * random.fraction(), true, () => gives.abort());
    }
    const wait = random.chance(0.3) ? 0 : random.chance(0.3) ? 2_000 : Number.POSITIVE_INFINITY;
    const options = { wait, signal: gives?.signal };
    try {
      if (kind === "read-write") {
        const lock = member.locks.readWriteLock(NAME);
        return await (random.chance(0.3) ? lock.write() : lock.read()).acquire(options);
      }
      const weight = random.integer(1, Math.min(3, limit));
      return await member.locks.semaphore(NAME, { permits: limit }).acquire({ ...options, weight });
    } catch (error) {
      if (gives?.signal.aborted === true) return undefined;
      if (isExpected(error)) return undefined;
      throw error;
    }
  }

  #handedOut(member: Member, permit: Permit): void {
    this.grants += 1;
    member.held.add(permit);
    permit.signal.addEventListener("abort", () => {
      this.losses += 1;
      if (this.#plan.isCalm)
        this.#violate("kept", `${member.name} lost a permit: ${permit.signal.reason}`);
    });
    this.#checkBeliefs(`${member.name} gets a permit of weight ${permit.weight}`);
  }

  /** Checks the total weight of the permits that processes now believe to hold, also paused processes. */
  #checkBeliefs(what: string): void {
    const { kind, limit } = this.#plan;
    let weight = 0;
    const holders: string[] = [];
    for (const one of this.#members) {
      if (one.process.state === "killed") continue;
      for (const each of one.held) {
        if (!each.isHeld) continue;
        weight += each.weight;
        holders.push(`${one.name} ${each.weight}`);
      }
    }
    const most = kind === "semaphore" ? limit : WHOLE;
    if (weight > most)
      this.#violate("permits", `${what}, and together they hold ${holders.join(", ")}`);
  }

  async #end(member: Member, permit: Permit, random: SeededRandom): Promise<void> {
    const held = await this.#downgraded(member, permit, random);
    // Some workers hold a permit until the faults end.
    if (!this.#isOver && random.chance(0.02)) await member.process.gate(this.#quiet);
    member.held.delete(held);
    await held.release().catch((error: unknown) => {
      if (!isExpected(error)) throw error;
    });
  }

  /** Some writers become readers before they release. */
  async #downgraded(member: Member, permit: Permit, random: SeededRandom): Promise<Permit> {
    if (!("downgrade" in permit) || !permit.isHeld || !random.chance(0.4)) return permit;
    try {
      const reader = await (permit as Permit & { downgrade(): Promise<Permit> }).downgrade();
      member.held.delete(permit);
      this.#handedOut(member, reader);
      await this.#sleep(member, 200 * random.fraction());
      return reader;
    } catch (error) {
      if (!isExpected(error)) throw error;
      return permit;
    }
  }

  #mishap(): void {
    const alive = this.#members.filter(({ process }) => process.state === "running");
    const victim = alive[this.#random.integer(0, Math.max(0, alive.length - 1))];
    if (victim === undefined) return;
    if (this.#random.chance(0.5)) {
      victim.process.kill();
      this.kills += 1;
      this.#start();
    } else {
      victim.process.pause();
      const pauseMs = 3 * this.#plan.leaseMs * this.#random.fraction();
      const waker = this.#time.process();
      waker.timers.set(pauseMs, true, () => {
        if (victim.process.state === "paused") victim.process.resume();
      });
    }
  }

  #changed({ key, before, after, atMs }: TableChange): void {
    const pk = key["pk"];
    const text = pk !== undefined && "S" in pk ? pk.S : "";
    this.#hash.update(`${atMs.toFixed(3)} ${JSON.stringify(after)}\n`);
    if (text !== `${this.#plan.kind}#${NAME}`) return;
    const now = this.#permits?.readAll(after);
    const then = this.#permits?.readAll(before);
    if (now?.state !== "shared") {
      this.#violate(
        "counted",
        `the record ${now !== undefined && "found" in now ? now.found : "is gone"}`,
      );
      return;
    }
    const limit = this.#plan.kind === "semaphore" ? this.#plan.limit : WHOLE;
    if (now.used > limit) this.#violate("permits", `the record has permits of weight ${now.used}`);
    const earlier = then?.state === "shared" ? then.permits : [];
    for (const { holder, fence } of now.permits) {
      if (earlier.some((one) => one.holder === holder)) continue;
      if (fence <= this.#highestFence)
        this.#violate("fence order", `${fence} comes after ${this.#highestFence}`);
      this.#highestFence = fence;
    }
    for (const { holder } of earlier) {
      if (now.permits.some((one) => one.holder === holder)) continue;
      this.#removed(holder);
    }
  }

  /** No process may believe in a permit that the record has no more. */
  #removed(holder: string): void {
    for (const member of this.#members) {
      if (member.process.state === "killed") continue;
      for (const permit of member.held) {
        if (permit.holder !== holder || !permit.isHeld) continue;
        this.#violate(
          "ownership",
          `the permit of ${member.name} was removed while it holds the permit`,
        );
      }
    }
  }

  /** Ends all faults: every waiter is then served, and nothing is left behind. */
  async #settle(): Promise<void> {
    for (const { network, process } of this.#members) {
      network.random(this.#random.fork(), undefined);
      if (process.state === "paused") process.resume();
    }
    this.#isOver = true;
    this.#isQuiet();
    const live = this.#members.filter(({ process }) => process.state !== "killed");
    const done = Promise.all(live.flatMap(({ work }) => work));
    let isDone = false;
    done.then(
      () => {
        isDone = true;
      },
      () => undefined,
    );
    // Enough time for the leases of several dead holders in turn, and for late requests from the time with faults.
    await this.#time.advance(20 * this.#plan.leaseMs + 60_000);
    if (!isDone) this.#violate("no lost waiter", "a waiter was not served after the faults");
    const closing = Promise.all(live.map(({ locks }) => locks.close().catch(() => undefined)));
    await this.#time.runUntil(closing, { limitMs: 600_000 });
    await this.#checkNothingLeft();
  }

  /** A newcomer gets the whole limit at the first sight of a record that only dead holders have left. */
  async #checkNothingLeft(): Promise<void> {
    const { kind, limit, leaseMs } = this.#plan;
    await this.#time.advance(2 * leaseMs + 5_000);
    const process = this.#time.process();
    const locks = new Holdfast({
      client: new FaultyTable(this.#dated, process),
      table: "locks",
      lease: leaseMs,
      maxClockError: 2 * SERVERS_DIFFER_MS,
      environment: { clock: process.clock, timers: process.timers, random: this.#random.fork() },
    });
    const taking: Promise<Permit | null> =
      kind === "semaphore"
        ? locks.semaphore(NAME, { permits: limit }).tryAcquire({ weight: limit })
        : locks.readWriteLock(NAME).write().tryAcquire();
    const permit = await this.#time.runUntil(taking, { limitMs: 600_000 });
    if (permit === null) this.#violate("nothing left", "the whole limit is not free after the end");
    await this.#time.runUntil(locks.close(), { limitMs: 600_000 });
    const item = this.#table.item({ pk: { S: `${kind}#${NAME}` }, sk: { S: "lease" } });
    const record = this.#permits?.readAll(item);
    if (record?.state === "shared" && record.used !== 0) {
      this.#violate("nothing left", `the record has permits of weight ${record.used}`);
    }
  }

  #violate(invariant: PermitViolation["invariant"], what: string): void {
    this.violations.push({ invariant, atMs: this.#time.nowMs, what });
  }

  #sleep({ process }: Member, ms: number): Promise<void> {
    return new Promise((resolve) => process.timers.set(ms, true, resolve));
  }
}

// The wait was too short, the network did not answer, or the session ended.
const EXPECTED = ["not-acquired", "unreachable", "throttled", "outcome-unknown", "lost", "closed"];

function isExpected(error: unknown): boolean {
  return isHoldfastError(error) && EXPECTED.includes(error.code);
}

function countOf(network: FaultyTable): number {
  return Object.values(network.injected).reduce((sum, count) => sum + count, 0);
}

/** Runs one seed for `lengthMs` of simulated time, and then until all is quiet. */
export function simulatePermits(seed: number, lengthMs: number): Promise<PermitsOutcome> {
  return new PermitsSimulation(seed, lengthMs).run();
}
