import { createHash } from "node:crypto";
import { Holdfast, isHoldfastError, type Lease } from "../../../src/index.js";
import type { Item } from "../../../src/platform/table.js";
import { FaultyTable } from "../../../src/testing/faults/faults.js";
import { MemoryTable, type TableChange } from "../../../src/testing/table/memory-table.js";
import { type SeededRandom, seededRandom } from "../../../src/testing/time/seeded-random.js";
import type { VirtualProcess } from "../../../src/testing/time/virtual-process.js";
import { VirtualTime } from "../../../src/testing/time/virtual-time.js";
import { stringIn } from "../queue/checkers.js";

/** A violation of the rules for forced releases. */
export interface ForcedViolation {
  readonly invariant: "exclusion" | "told in time" | "nothing left";
  readonly atMs: number;
  readonly what: string;
}

/** The result of one run. */
export interface ForcedOutcome {
  readonly violations: readonly ForcedViolation[];
  /** Forced releases which resolved with the asked holder, and how many freed the lock at once. */
  readonly forced: number;
  readonly now: number;
  /** Operators which were killed at the send of a write. */
  readonly killed: number;
  /** Moves to a session while an operator was active, before the record named the holder in a request. */
  readonly movedDuring: number;
  /** Moves to a session by holders which the record already named in a request. */
  readonly movedAfter: number;
  readonly faults: number;
  /** The hash of the history, equal for equal seeds. */
  readonly hash: string;
}

const NAME = "a";
const ASKED = "request#";
// Renewals per lease, by default.
const RENEWALS = 3;
// The time of a renewal beyond its period: two requests with their latencies, and room for a resend.
const ANSWERED_WITHIN_MS = 500;

/** One process, with its client and its network. */
interface Client {
  readonly locks: Holdfast;
  readonly process: VirtualProcess;
  readonly network: FaultyTable;
}

/**
 * Processes hold one lock by sessions or by their own renewals, mostly until a request ends the lease. Operators
 * force its release, after asking or at once: several at a time, slowly, around the move to the session, and some are
 * killed between two requests. In virtual time.
 */
class ForcedSimulation {
  readonly #lengthMs: number;
  readonly #time = new VirtualTime();
  readonly #random: SeededRandom;
  readonly #leaseMs: number;
  readonly #faultRate: number;
  readonly #table: MemoryTable;
  readonly #networks: FaultyTable[] = [];
  readonly #held = new Set<Lease>();
  /** Until when, in true time, an asked or freed holder may believe in its lease. */
  readonly #untilMs = new Map<string, number>();
  /** The holders which a forced release freed at once: only these may overlap with a new holder. */
  readonly #freed = new Set<string>();
  readonly #accused = new Set<string>();
  readonly #violations: ForcedViolation[] = [];
  readonly #hash = createHash("sha256");
  readonly #sums = { forced: 0, now: 0, killed: 0, movedDuring: 0, movedAfter: 0 };
  /** The number of operators between their first and their last request. */
  #operating = 0;
  #grantedAtMs = 0;
  #isOver = false;

  constructor(seed: number, lengthMs: number) {
    this.#lengthMs = lengthMs;
    this.#random = seededRandom(seed);
    this.#leaseMs = this.#random.integer(1_500, 5_000);
    this.#faultRate = this.#random.chance(0.5) ? 0 : 0.05 * this.#random.fraction();
    this.#table = new MemoryTable({
      keyAttributes: ["pk", "sk"],
      time: this.#time,
      keepsLog: false,
      onChange: (change) => this.#changed(change),
    });
  }

  async run(): Promise<ForcedOutcome> {
    for (let index = 0; index < 3; index += 1) {
      const { locks, process } = this.#client(this.#faultRate, 20);
      void this.#holds(locks, process, this.#random.fork());
    }
    for (let index = 0; index < 2; index += 1) void this.#operates(this.#random.fork());
    while (this.#time.nowMs < this.#lengthMs) {
      await this.#time.advance(100);
      this.#checkBeliefs();
    }
    await this.#settle();
    const faults = this.#networks.flatMap(({ injected }) => Object.values(injected));
    return {
      violations: this.#violations,
      ...this.#sums,
      faults: faults.reduce((sum, times) => sum + times, 0),
      hash: this.#hash.digest("hex"),
    };
  }

  /** How long an asked or freed holder may continue to believe in its lease. */
  get #boundMs(): number {
    // Lost answers delay the holder's renewals, and its read of the record after a session's renewal.
    const leases = this.#faultRate === 0 ? 1 / RENEWALS : 3;
    return leases * this.#leaseMs + ANSWERED_WITHIN_MS;
  }

  #client(faultRate: number, slowestMs: number): Client {
    const random = this.#random.fork();
    const process = this.#time.process();
    const latency = (): number => 1 + slowestMs * random.fraction();
    const network = new FaultyTable(this.#table, process, {
      latency: () => ({ requestMs: latency(), responseMs: latency() }),
    });
    const each = faultRate / 3;
    const faults = { "request-lost": each, "response-lost": each, duplicated: each };
    network.random(random.fork(), { faults, longestDelayMs: 1_000 });
    this.#networks.push(network);
    const locks = new Holdfast({
      client: network,
      table: "locks",
      requestTimeout: Math.max(300, 3 * slowestMs),
      lease: this.#leaseMs,
      poll: { min: 20, max: 200 },
      ...(random.chance(0.7) ? { sharedSession: true as const } : {}),
      onError: () => undefined,
      environment: { clock: process.clock, timers: process.timers, random: random.fork() },
    });
    return { locks, process, network };
  }

  async #holds(locks: Holdfast, process: VirtualProcess, random: SeededRandom): Promise<void> {
    // Opens the session, and keeps it open.
    await locks.mutex(`of ${process.clock.monotonicMs()}`).acquire().catch(expected);
    while (!this.#isOver) {
      const lease = await locks.mutex(NAME).acquire({ wait: 2_000 }).catch(expected);
      if (lease === undefined) continue;
      this.#held.add(lease);
      this.#checkBeliefs();
      const isShort = random.chance(0.2);
      const longestMs = isShort ? this.#leaseMs * random.fraction() : 8 * this.#leaseMs;
      await new Promise<void>((resolve) => {
        process.timers.set(longestMs, true, resolve);
        lease.signal.addEventListener("abort", () => resolve(), { once: true });
      });
      // The work takes a while to end.
      if (!lease.isHeld) await this.#sleep(process, 0.5 * this.#leaseMs * random.fraction());
      this.#checkBeliefs();
      await lease.release().catch(expected);
      this.#held.delete(lease);
    }
  }

  async #operates(random: SeededRandom): Promise<void> {
    while (!this.#isOver) {
      await this.#time.sleep(2 * this.#leaseMs * random.fraction());
      // Half of the operators come when the holder is about to move.
      const movesAtMs = this.#grantedAtMs + this.#leaseMs / RENEWALS;
      const leadMs = 400 * random.fraction();
      if (random.chance(0.5)) {
        await this.#time.sleep(Math.max(0, movesAtMs - leadMs - this.#time.nowMs));
      }
      const slowestMs = random.chance(0.5) ? 10 : this.#leaseMs / 4;
      const operator = this.#client(random.chance(0.3) ? 0.3 : 0, slowestMs);
      if (random.chance(0.4)) this.#killAtWrite(operator, random.fork());
      await this.#forces(operator.locks, random);
    }
  }

  /** Kills the operator's process when it sends a write, which arrives or is lost. */
  #killAtWrite({ process, network }: Client, random: SeededRandom): void {
    let left = random.integer(1, 3);
    network.script(({ kind }) => {
      if (kind !== "write") return undefined;
      left -= 1;
      if (left !== 0) return undefined;
      process.kill();
      this.#sums.killed += 1;
      return random.chance(0.5) ? { fault: "request-lost" } : undefined;
    });
  }

  async #forces(locks: Holdfast, random: SeededRandom): Promise<void> {
    const now = random.chance(0.5);
    const wait = random.chance(0.5) ? 0 : 2 * this.#leaseMs;
    this.#operating += 1;
    const forced = locks.admin.forceRelease(NAME, { reason: "a drill", now, wait }).catch(expected);
    // A killed operator receives no answer.
    const result = await Promise.race([forced, this.#time.sleep(4 * this.#leaseMs)]);
    this.#operating -= 1;
    if (result?.holder === undefined) return;
    this.#sums.forced += 1;
    if (now && result.isFree) this.#sums.now += 1;
    this.#mustEnd(result.holder);
  }

  #changed({ key, before = {}, after = {}, atMs }: TableChange): void {
    this.#hash.update(`${atMs} ${JSON.stringify(after)}\n`);
    const [partition, holder] = [stringIn(key, "pk"), stringIn(after, "holder")];
    if (partition?.startsWith("session#")) this.#sessionChanged(before, after);
    if (partition !== `lock#${NAME}`) return;
    const former = stringIn(before, "holder");
    const forced = forcedIn(after);
    const isAsked = forced !== undefined && forced.holder === (holder ?? former);
    if (former !== holder) {
      if (holder !== undefined) this.#grantedAtMs = atMs;
      else if (isAsked && forced.now) {
        this.#freed.add(forced.holder);
        this.#mustEnd(forced.holder);
      }
    } else if (isAsked && after["session"] === undefined) {
      // The holder's next renewal, or the move, shows the request.
      this.#mustEnd(forced.holder);
    }
    if (holder === former && before["session"] === undefined && after["session"] !== undefined) {
      if (isAsked) this.#sums.movedAfter += 1;
      else if (this.#operating > 0) this.#sums.movedDuring += 1;
    }
    this.#checkBeliefs();
  }

  #sessionChanged(before: Item, after: Item): void {
    for (const attribute of Object.keys(after)) {
      const isNew = attribute.startsWith(ASKED) && before[attribute] === undefined;
      if (isNew) this.#mustEnd(attribute.slice(ASKED.length));
    }
  }

  #mustEnd(holder: string): void {
    if (this.#untilMs.has(holder)) return;
    this.#untilMs.set(holder, this.#time.nowMs + this.#boundMs);
  }

  /**
   * Allows overlapping holders only beside holders which were freed at once, and no holder after the bound.
   */
  #checkBeliefs(): void {
    const believing = [...this.#held].filter((lease) => lease.isHeld);
    const unfreed = believing.filter(({ holder }) => !this.#freed.has(holder));
    if (unfreed.length > 1) {
      this.#violate("exclusion", `${unfreed.map(({ holder }) => holder).join(" and ")} believe`);
    }
    for (const { holder } of believing) {
      const untilMs = this.#untilMs.get(holder) ?? Number.POSITIVE_INFINITY;
      if (this.#time.nowMs <= untilMs || this.#accused.has(holder)) continue;
      this.#accused.add(holder);
      this.#violate("told in time", `${holder} believes, ${this.#boundMs} ms after its release`);
    }
  }

  #violate(invariant: ForcedViolation["invariant"], what: string): void {
    this.#violations.push({ invariant, atMs: this.#time.nowMs, what });
  }

  /** Expects that a forced or abandoned lock is free after a lease. */
  async #settle(): Promise<void> {
    this.#isOver = true;
    for (const network of this.#networks) network.clear();
    for (let left = 12 * this.#leaseMs; left > 0; left -= 100) {
      await this.#time.advance(100);
      this.#checkBeliefs();
    }
    const { locks } = this.#client(0, 10);
    const taking = locks
      .mutex(NAME)
      .acquire({ wait: 2 * this.#leaseMs })
      .catch(expected);
    const lease = await this.#time.runUntil(taking, { limitMs: 60_000 });
    if (lease === undefined) this.#violate("nothing left", "the lock was not free after a lease");
  }

  #sleep(process: VirtualProcess, ms: number): Promise<void> {
    return new Promise((resolve) => process.timers.set(ms, true, () => resolve()));
  }
}

function forcedIn(item: Item): { readonly holder: string; readonly now: boolean } | undefined {
  const forced = item["request"];
  if (forced === undefined || !("M" in forced)) return undefined;
  const now = forced.M["now"];
  return {
    holder: stringIn(forced.M, "holder") ?? "",
    now: now !== undefined && "BOOL" in now && now.BOOL,
  };
}

// The error codes of contention and a bad network; all further codes are defects of the library.
const EXPECTED = ["not-acquired", "unreachable", "throttled", "lost", "outcome-unknown"];

function expected(error: unknown): undefined {
  if (isHoldfastError(error) && EXPECTED.includes(error.code)) return undefined;
  throw error;
}

/** Runs one seed. */
export function simulateForced(seed: number, lengthMs: number): Promise<ForcedOutcome> {
  return new ForcedSimulation(seed, lengthMs).run();
}
