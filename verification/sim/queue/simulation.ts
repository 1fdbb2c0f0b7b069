import { createHash } from "node:crypto";
import {
  fairLock,
  isHoldfastError,
  type Lease,
  mutex,
  sharedSession,
} from "../../../packages/holdfast/src/index.js";
import type {
  Item,
  TablePort,
  Write,
  WriteAnswer,
} from "../../../packages/holdfast/src/platform/table.js";
import type { TamperableTable } from "../../../packages/testing/src/table/memory-table.js";
import type { SeededRandom } from "../../../packages/testing/src/time/seeded-random.js";
import { Servers } from "../dates.js";
import { numberIn, textIn } from "../items.js";
import { evenFaults, type Machine, type Order, orderOf, Site } from "../machine.js";
import { around } from "../observed.js";
import { paced } from "../pacing.js";
import { Tampering } from "../tampering.js";
import { type Placed, QueueChecker, type QueueViolation, type Sent, ticketIn } from "./checkers.js";
import { Outages } from "./outages.js";
import { isJudged, type QueueKind, type QueueTraits, traitsOf } from "./traits.js";

/** Everything a seed decides before a run. */
export interface QueuePlan {
  readonly seed: number;
  readonly lengthMs: number;
  /** Absent: as the seed decides. */
  readonly kind?: QueueKind;
}

/** The result of one run. */
export interface QueueOutcome {
  readonly kind: QueueKind;
  readonly violations: readonly QueueViolation[];
  readonly grants: number;
  readonly grantsInOrder: number;
  readonly faults: number;
  readonly mishaps: number;
  /** The hash of the history, equal for equal seeds. */
  readonly hash: string;
}

const NAME = "a";
const RECORD_KEY = { pk: { S: `lock#${NAME}` }, sk: { S: "lease" } };
const QUEUE_KEY = `queue#${NAME}`;
const DRIFT = 0.01;
const REQUEST_TIMEOUT_MS = 500;
const POLL = { min: "100ms", max: "500ms" };
const FAULTS = [
  ...(["request-lost", "response-lost", "response-lost-and-retried"] as const),
  ...(["applied-late", "duplicated", "throttled"] as const),
] as const;
const MISHAP_EVERY_MS = 4_000;
// An unanswered deletion is retried for a lease, and then with pauses which grow to this length.
const LONGEST_SWEEP_PAUSE_MS = 12_500;

/** An incarnation of a process, and the leases in which the process believes. */
interface Life {
  readonly machine: Machine;
  readonly held: Set<Lease>;
  readonly waiting: Set<object>;
  readonly workers: Promise<void>[];
  /** The end of the last pause, in true time. */
  hinderedUntilMs: number;
  /** The place that the process requested last. */
  placed: Placed | undefined;
  /** When the last waiter of the process ended. */
  idleSinceMs: number;
}

/** One waiter, by the label in its entry. */
interface LocalWaiter {
  readonly life: Life;
  endedMs: number | undefined;
}

/**
 * Processes wait for one fair lock in virtual time, some of them with mutexes: requests are lost, late and doubled;
 * processes are paused for longer than a lease, and killed.
 */
class QueueSimulation extends Site {
  readonly #plan: QueuePlan;
  readonly #traits: QueueTraits;
  readonly #leaseMs: number;
  readonly #servers: Servers;
  readonly #outages: Outages;
  readonly #tampering: Tampering;
  readonly #waiters = new Map<string, LocalWaiter>();
  readonly #checker: QueueChecker;
  readonly #lives: Life[] = [];
  readonly #sent = new Map<string, Sent>();
  readonly #placed = new Map<string, Placed>();
  /** The process whose request created each holder, of the lock or of an entry. */
  readonly #madeBy = new Map<string, string>();
  readonly #hash = createHash("sha256");
  #acquisitions = 0;
  #faults = 0;
  #mishaps = 0;
  #isOver = false;
  #isDone = false;

  constructor(plan: QueuePlan) {
    super(plan.seed, {
      lagMs: () => (this.random.chance(0.2) ? 200 * this.random.fraction() : 0),
      onChange: (change) => {
        this.#hash.update(`${change.atMs} ${JSON.stringify(change.after ?? change.key)}\n`);
        if (!isOfQueue(change.key)) return;
        this.#checker.changed(change);
        this.#tampering.changed(change);
        this.#checkExclusion();
      },
    });
    this.#plan = plan;
    this.#traits = traitsOf(this.random, plan.kind);
    this.#leaseMs = this.#traits.leaseMs;
    this.#servers = new Servers(plan.seed, this.#leaseMs);
    this.#outages = new Outages(this.time, [RECORD_KEY.pk.S, QUEUE_KEY]);
    this.#checker = new QueueChecker(
      (holder) => this.#sent.get(holder),
      (one, other) => this.#madeBy.get(one) === this.#madeBy.get(other),
    );
    this.#tampering = new Tampering(this.table, [RECORD_KEY], { makesUnreadable: false });
  }

  async run(): Promise<QueueOutcome> {
    for (let index = 0; index < this.#traits.processes; index += 1) this.#join();
    let untilMs = 0;
    while (untilMs < this.#plan.lengthMs) {
      const pauseMs = 2 * MISHAP_EVERY_MS * this.random.fraction();
      untilMs += pauseMs;
      await this.time.advance(pauseMs);
      this.#strike();
    }
    await this.#settle();
    for (const life of this.#lives) this.#countFaults(life);
    return {
      kind: this.#traits.kind,
      violations: this.#checker.violations.filter((one) => isJudged(this.#traits.kind, one)),
      grants: this.#checker.grants,
      grantsInOrder: this.#checker.grantsInOrder,
      faults: this.#faults,
      mishaps: this.#mishaps,
      hash: this.#hash.digest("hex"),
    };
  }

  #join(): Life {
    const name = `p${this.#lives.length + 1}`;
    const random = this.random.fork();
    const { kind, faultRate, workers: workersOf, longestLatencyMs } = this.#traits;
    const faults = evenFaults(faultRate / 6, FAULTS);
    const servers = this.#servers.options;
    const machine = this.start({
      ...{ name, random, service: this.#serviceOf(name) },
      clocks: {
        rate: random.chance(0.5) ? 1 + DRIFT : 1 - DRIFT,
        wallOffsetMs: random.integer(-60_000, 60_000),
      },
      latencyMs: () => 1 + longestLatencyMs * random.fraction(),
      wired: (network) => {
        network.random(random.fork(), { faults, longestDelayMs: 3_000 });
        if (kind === "outages") network.script(this.#outages.script);
        return this.#paced(name, this.#witness(network));
      },
      client: {
        ...{ maxClockDrift: DRIFT, ...servers, lease: this.#leaseMs },
        requestTimeout: `${REQUEST_TIMEOUT_MS}ms`,
        get sharedSession() {
          return (kind === "outages" || random.chance(0.3)) && sharedSession();
        },
      },
    });
    const life: Life = {
      machine,
      held: new Set(),
      waiting: new Set(),
      workers: [],
      hinderedUntilMs: 0,
      placed: undefined,
      idleSinceMs: 0,
    };
    this.#lives.push(life);
    if (kind === "outages") void this.#keepSession(machine);
    const workers = random.integer(...workersOf);
    for (let worker = 0; worker < workers; worker += 1) {
      life.workers.push(this.#work(life, random.fork()));
    }
    return life;
  }

  #paced(name: string, table: TablePort): TablePort {
    const nowMs = (): number => this.time.nowMs;
    return paced(table, nowMs, (what) =>
      this.#checker.violate("paced", nowMs(), `${name} ${what}`),
    );
  }

  // Holds a lease on another record, so that the process's session lives as long as the process.
  async #keepSession(machine: Machine): Promise<void> {
    while (!this.#isDone) {
      const kept = mutex(machine.locks, `kept by ${machine.name}`);
      const lease = await kept.acquire({ wait: "1h" }).catch(expected);
      while (lease?.isHeld === true && !this.#isDone) await machine.sleep(this.#leaseMs / 2);
      await lease?.release().catch(expected);
    }
  }

  /**
   * Observes the process before its network: its last read of the queue, and the first send of each grant.
   */
  #witness(network: TablePort): TablePort {
    const readMs = new Map<bigint, number>();
    return around(network, (request, send) => {
      if (request.kind === "write") {
        const { set } = request.write.change;
        const holder = textIn(set as never, "holder");
        const ticket = numberIn(set as never, "served");
        if (holder !== undefined && ticket !== undefined && !this.#sent.has(holder)) {
          const lastReadMs = readMs.get(ticket) ?? Number.NEGATIVE_INFINITY;
          this.#sent.set(holder, { firstMs: this.time.nowMs, readMs: lastReadMs });
        }
        this.#noticePlace(request.write);
      } else if (request.kind === "transact") {
        for (const write of request.transaction.writes) this.#noticePlace(write);
      } else if (request.kind === "query") {
        const upTo = ticketIn({ sk: { S: request.query.sort.to } });
        if (request.query.consistent && upTo !== undefined) readMs.set(upTo + 1n, this.time.nowMs);
      }
      return send();
    });
  }

  #noticePlace({ key, change }: Write): void {
    const ticket = ticketIn(key);
    const holder = textIn(change.set as never, "holder");
    const owner = textIn(change.set as never, "owner");
    if (ticket === undefined || holder === undefined || owner === undefined) return;
    const last = this.#placed.get(owner);
    if (last?.holder === holder) return;
    const place = { holder, ticket, firstMs: this.time.nowMs };
    const served = numberIn(this.table.items().find((item) => isRecord(item)) ?? {}, "served");
    this.#checker.placed(owner, place, last, served, this.#leaseMs);
    this.#placed.set(owner, place);
    const life = this.#waiters.get(owner)?.life;
    if (life !== undefined) life.placed = place;
  }

  #serviceOf(name: string): TamperableTable {
    return this.#servers.before(this.#portOf(name), () => this.time.wallMs);
  }

  /** Returns the table for one process, so each request has a known sender and time. */
  #portOf(name: string): TamperableTable {
    const table = this.table;
    return {
      clockCorrectionMs: 0,
      write: async (write) => {
        const holder = textIn(write.change.set as never, "holder");
        if (holder !== undefined) this.#madeBy.set(holder, name);
        return write.as === "delete" ? this.#removed(write, name) : table.apply(write);
      },
      transact: async (transaction) => {
        for (const { change } of transaction.writes) {
          const holder = textIn(change.set as never, "holder");
          if (holder !== undefined) this.#madeBy.set(holder, name);
        }
        return table.applyAll(transaction);
      },
      read: (read, call) => table.read(read, call),
      staleRead: (read, changesAgo) => table.staleRead(read, changesAgo),
      deleteItem: (key) => table.deleteItem(key),
      scan: (scan, call) => table.scan(scan, call),
      query: (query, call) => table.query(query, call),
    };
  }

  #removed(write: Write, name: string): WriteAnswer {
    const table = this.table;
    const ticket = ticketIn(write.key);
    const entry = table.item(write.key);
    if (ticket === undefined || entry === undefined) return table.apply(write);
    const before = this.#checker.violations.length;
    const isOther = this.#madeBy.get(textIn(entry, "holder") ?? "") !== name;
    const served = numberIn(table.items().find((item) => isRecord(item)) ?? {}, "served");
    const mayBeOver = this.#servers.mayShowOver(entry, this.time.wallMs);
    if (isOther && !mayBeOver) this.#checker.removedByOther(ticket, entry, served, this.time.nowMs);
    const answer = table.apply(write);
    // A refused deletion removed nothing.
    if (answer.kind !== "applied") this.#checker.violations.length = before;
    return answer;
  }

  async #work(life: Life, random: SeededRandom): Promise<void> {
    const isMutex = random.chance(0.15);
    while (!this.#isOver) {
      await life.machine.sleep(1_500 * random.fraction());
      const lease = await this.#take(life, random, isMutex);
      if (lease === undefined) continue;
      life.held.add(lease);
      this.#expectTrueLoss(lease);
      this.#checkExclusion();
      const holdMs = random.chance(this.#traits.holdsLong) ? 2 * this.#leaseMs : 400;
      await life.machine.sleep(holdMs * random.fraction());
      life.held.delete(lease);
      await lease.release().catch(() => undefined);
    }
  }

  async #take(life: Life, random: SeededRandom, isMutex: boolean): Promise<Lease | undefined> {
    const { locks, name, process } = life.machine;
    // Half of the lives let the interval between reads follow the length of the holds.
    const options = random.chance(0.5) ? {} : { poll: POLL };
    const lock = isMutex ? mutex(locks, NAME, options) : fairLock(locks, NAME, options);
    if (random.chance(0.1)) return (await lock.tryAcquire().catch(expected)) ?? undefined;
    const abort = new AbortController();
    if (random.chance(0.15)) {
      process.timers.set(3_000 * random.fraction(), false, () => abort.abort());
    }
    this.#acquisitions += 1;
    // A label of its own identifies the places which the waiter requests.
    const owner = `${name} ${this.#acquisitions}`;
    const waiter: LocalWaiter = { life, endedMs: undefined };
    this.#waiters.set(owner, waiter);
    life.waiting.add(waiter);
    try {
      const { signal } = abort;
      return await lock.acquire({ wait: Number.POSITIVE_INFINITY, signal, owner });
    } catch (error) {
      if (!abort.signal.aborted) expected(error);
      return undefined;
    } finally {
      life.waiting.delete(waiter);
      waiter.endedMs = this.time.nowMs;
      if (life.waiting.size === 0) life.idleSinceMs = this.time.nowMs;
    }
  }

  /** Expects every reported loss to a different client to be true. */
  #expectTrueLoss(lease: Lease): void {
    lease.signal.addEventListener("abort", () => {
      const { reason } = lease.signal.reason as { reason?: string };
      if (reason !== "stolen" && reason !== "released-elsewhere") return;
      this.#checker.lost(lease.holder, reason, this.time.nowMs);
    });
  }

  /**
   * An entry on a live session has a waiter, or goes: its deletion is retried until acknowledged. The waiters of a
   * process share a place, so a process needs an entry until it requests another, or until its last waiter ends.
   */
  #checkOrphans(): void {
    const nowMs = this.time.nowMs;
    for (const item of this.table.items()) {
      const session = textIn(item, "session");
      const ticket = ticketIn(item);
      if (session === undefined || ticket === undefined) continue;
      const movedMs = this.#checker.sessionMovedMs(session);
      const waiter = this.#waiters.get(textIn(item, "owner") ?? "");
      if (movedMs === undefined || nowMs - movedMs > this.#leaseMs) continue;
      if (waiter?.endedMs === undefined || !waiter.life.machine.isRunning) continue;
      const { hinderedUntilMs, placed, waiting, idleSinceMs } = waiter.life;
      const isPlaced = placed !== undefined && placed.ticket > ticket;
      if (!isPlaced && waiting.size > 0) continue;
      const uselessMs = isPlaced ? placed.firstMs : idleSinceMs;
      const sinceMs = Math.max(
        ...[waiter.endedMs, uselessMs, this.#outages.untilMs, hinderedUntilMs],
      );
      if (nowMs - sinceMs <= this.#leaseMs + LONGEST_SWEEP_PAUSE_MS + 2 * REQUEST_TIMEOUT_MS)
        continue;
      this.#checker.violate("no orphan", nowMs, `${ticket} was left ${nowMs - sinceMs} ms ago`);
    }
  }

  /** Checks in true time: at most one process able to act believes to hold the lock. */
  #checkExclusion(): void {
    const believing = this.#lives.filter(
      ({ machine, held }) => machine.isRunning && [...held].some((lease) => lease.isHeld),
    );
    if (believing.length < 2) return;
    const names = believing.map(({ machine }) => machine.name).join(" and ");
    this.#checker.violate("exclusion", this.time.nowMs, `${names} believe`);
  }

  #strike(): void {
    if (this.#traits.kind === "outages") this.#checkOrphans();
    if (this.#traits.kind === "outages" && this.random.chance(0.5)) {
      this.#mishaps += 1;
      if (this.time.nowMs > this.#outages.untilMs) this.#outages.begin(this.random, this.#leaseMs);
      return;
    }
    if (this.#traits.kind === "tampering" && this.random.chance(0.5)) {
      this.#mishaps += 1;
      this.#tampering.strike(this.random);
      return;
    }
    const running = this.#lives.filter(({ machine }) => machine.isRunning);
    const victim = running[this.random.integer(0, running.length - 1)];
    if (victim === undefined || this.random.chance(0.2)) return;
    this.#mishaps += 1;
    if (this.random.chance(0.4)) {
      victim.machine.process.kill();
      this.#join();
      return;
    }
    const frozen = this.random.chance(0.3) ? "monotonic" : "none";
    const forMs = 3 * this.#leaseMs * this.random.fraction();
    const first = (): Order => {
      victim.hinderedUntilMs = this.time.nowMs;
      return orderOf(this.random);
    };
    victim.machine.pause(forMs, first, { frozen });
  }

  /** Ends the faults; expects a grant for every waiter, and an empty queue. */
  async #settle(): Promise<void> {
    this.#isOver = true;
    this.#outages.end();
    await this.time.advance(3 * this.#leaseMs);
    const living = this.#lives.filter(({ machine }) => machine.isRunning);
    for (const life of living) {
      this.#countFaults(life);
      life.machine.network.clear();
    }
    const waiters = living.reduce((sum, { waiting }) => sum + waiting.size, 0);
    // For each waiter the lease of a dead holder, and its own turn.
    const limitMs = (waiters + 4) * 3 * this.#leaseMs;
    const ended = Promise.all(living.flatMap(({ workers }) => workers));
    try {
      await this.time.runUntil(ended, { limitMs });
    } catch (error) {
      const left = living.reduce((sum, { waiting }) => sum + waiting.size, 0);
      this.#checker.violate("no lost waiter", this.time.nowMs, `${left} wait: ${String(error)}`);
    }
    await this.#expectEmpty();
    if (this.#traits.kind === "outages") this.#checkOrphans();
    this.#isDone = true;
  }

  async #expectEmpty(): Promise<void> {
    const [one, other] = [this.#join(), this.#join()];
    for (const { machine } of [one, other]) machine.network.clear();
    const take = ({ machine }: Life) =>
      fairLock(machine.locks, NAME, { poll: POLL }).acquire({ wait: "1h" });
    const limit = { limitMs: 10 * this.#leaseMs };
    try {
      const first = await this.time.runUntil(take(one), limit);
      const second = take(other);
      await this.time.advance(1_000);
      await this.time.runUntil(first.release(), limit);
      await this.time.runUntil((await this.time.runUntil(second, limit)).release(), limit);
    } catch (error) {
      this.#checker.violate("no lost waiter", this.time.nowMs, `a newcomer: ${String(error)}`);
    }
    await this.time.advance(3_000);
    const left = this.table.items().flatMap((item) => ticketIn(item) ?? []);
    if (left.length > 0) this.#checker.violate("nothing left", this.time.nowMs, left.join(", "));
  }

  #countFaults({ machine }: Life): void {
    this.#faults += machine.faults;
  }
}

function isRecord(item: Item): boolean {
  return textIn(item, "sk") === RECORD_KEY.sk.S && textIn(item, "pk") === RECORD_KEY.pk.S;
}

// The lock's record, its entries, and the sessions of the waiters, without the records which keep a session alive.
function isOfQueue(key: Item): boolean {
  const pk = textIn(key, "pk");
  return pk === RECORD_KEY.pk.S || pk === QUEUE_KEY || pk?.startsWith("session#") === true;
}

// The error codes of contention and a bad network; all further codes are defects of the library.
const EXPECTED = ["not-acquired", "unreachable", "throttled", "closed", "lost"];

function expected(error: unknown): undefined {
  if (isHoldfastError(error) && EXPECTED.includes(error.code)) return undefined;
  throw error;
}

/** Runs one plan to its end. */
export function simulateQueue(plan: QueuePlan): Promise<QueueOutcome> {
  return new QueueSimulation(plan).run();
}
