import { createHash } from "node:crypto";
import type {
  Call,
  Item,
  Query,
  Read,
  Scan,
  Transacting,
  Write,
} from "../../packages/holdfast/src/platform/table.js";
import type { FaultScript } from "../../packages/testing/src/faults/fault-plan.js";
import { DatedTable } from "../../packages/testing/src/table/dated-table.js";
import {
  MemoryTable,
  type TamperableTable,
} from "../../packages/testing/src/table/memory-table.js";
import { type SeededRandom, seededRandom } from "../../packages/testing/src/time/seeded-random.js";
import { VirtualTime } from "../../packages/testing/src/time/virtual-time.js";
import { check } from "./checkers.js";
import { serverMs } from "./dates.js";
import { type Event, type Timed, textOf, type Violation } from "./history.js";
import { Incarnation, type Run } from "./incarnation.js";
import { Mishaps, type Scenery } from "./mishaps.js";
import { firstRateOf, type Plan, planOf, termsOf } from "./plan.js";
import { Protocol } from "./protocol/protocol.js";
import { type Believed, Records } from "./records.js";
import { Settling } from "./settling.js";
import { Tampering } from "./tampering.js";
import { isJudged } from "./world/judged.js";
import { EndedLeases } from "./world/memory.js";
import { worldPlanOf } from "./world/plan.js";
import { WorldRings } from "./world/rings.js";
import { settleWorld } from "./world/settling.js";
import type { Exchange, WorldKind } from "./world/traits.js";

/** The result of one run. */
export interface Outcome {
  readonly kind: Plan["kind"];
  readonly violations: readonly Violation[];
  readonly history: readonly Timed[];
  readonly grants: number;
  readonly faults: Readonly<Record<string, number>>;
  /** How long the run had load, in milliseconds of true time, without the days it skipped. */
  readonly simulatedMs: number;
  /** The hash of the history: equal for equal seeds on every machine. Computed on first use. */
  readonly hash: string;
}

const STEPS_MS = 20 * 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// Longer than a request takes in flight, apart from injected delays.
const LATE_MS = 1_000;

/** A seeded run of the shipped core in virtual time. */
class Simulation implements Run {
  readonly plan: Plan;
  readonly time = new VirtualTime();
  readonly protocol: Protocol;
  readonly reported: Error[] = [];
  readonly live = new Map<string, Incarnation>();
  isOver = false;
  isQuiet = false;
  readonly exchange: Exchange;
  awakening = Promise.resolve();
  readonly #table: MemoryTable;
  readonly #records: Records;
  readonly #random: SeededRandom;
  readonly #dates: SeededRandom;
  readonly #mishaps: Mishaps;
  readonly #tampering: Tampering | undefined;
  readonly #history: Timed[] = [];
  readonly #violations: Violation[] = [];
  readonly #faults: Record<string, number> = {};
  #grants = 0;
  #started = 0;
  #skippedMs = 0;
  /** The sender of the request at the table. */
  #writer = "";

  constructor(plan: Plan) {
    this.plan = plan;
    this.exchange = {
      transfers: [],
      due: new Map(),
      longestMs: 0,
      unended: undefined,
      longHold: undefined,
      ended: new EndedLeases(),
      rings: WorldRings.of(plan),
    };
    this.#random = plan.random.fork();
    this.#dates = seededRandom(1_000_003 * plan.seed + 11);
    this.#mishaps = new Mishaps(this, plan.random.fork());
    this.protocol = new Protocol({
      terms: termsOf(plan),
      nowMs: () => this.time.nowMs,
      trueWallMs: () => this.time.wallMs,
      fail: (invariant, what) => this.fail(invariant, what),
    });
    this.#records = new Records(
      {
        isExclusive: termsOf(plan).isExclusive,
        seesQueues: plan.world !== undefined,
        largestWallErrorMs: largestWallErrorMs(plan),
      },
      () => this.time.wallMs,
      (event) => this.note(event),
      (invariant, what) => this.fail(invariant, what),
    );
    this.#table = new MemoryTable({
      keyAttributes: ["pk", "sk"],
      time: this.time,
      tellsDate: false,
      keepsLog: false,
      // As if no client sent a token: only the conditions prevent that a transaction is carried out twice.
      ...(plan.world === undefined ? {} : { remembersTokens: false }),
      onChange: (change) => {
        const { write, before, after } = change;
        if (write !== undefined) this.protocol.applied(this.#writer, write, before, after);
        this.#records.changed(change, this.#writer);
        this.#tampering?.changed(change);
      },
    });
    if (plan.world?.isTampered === true) {
      this.#tampering = new Tampering(this.#table, plan.names.map(keyOf), {
        makesUnreadable: true,
      });
    }
    const aheadMs = plan.world?.ticketsAheadMs;
    if (aheadMs !== undefined) {
      const record = freeRecord(this.time.wallMs + aheadMs);
      for (const name of plan.names) this.#table.putItem(keyOf(name), record);
    }
  }

  note(event: Event): void {
    if (event.kind === "granted") this.#grants += 1;
    const timed = { ...event, atMs: this.time.nowMs };
    this.#history.push(timed);
    this.protocol.noted(timed);
  }

  /** Returns the table for a process, so each request has a known sender. */
  portOf(writer: string): TamperableTable {
    const table = this.#table;
    const port = {
      write: async (write: Write) => {
        this.#writer = writer;
        return table.apply(write);
      },
      ...this.#transactions(writer),
      read: (read: Read, call: Call) => table.read(read, call),
      scan: (scan: Scan, call: Call) => table.scan(scan, call),
      query: (query: Query, call: Call) => table.query(query, call),
      staleRead: (read: Read, changesAgo: number) => table.staleRead(read, changesAgo),
      deleteItem: (key: Read["key"]) => table.deleteItem(key),
      clockCorrectionMs: 0,
    } satisfies TamperableTable;
    const { dates } = this.plan;
    if (dates === undefined) return port;
    return new DatedTable(port, () => serverMs(this.#dates, dates, this.time.wallMs));
  }

  // The runs of the core use no transactions.
  #transactions(writer: string): Pick<TamperableTable, "transact"> {
    if (this.plan.world === undefined) return {};
    const transact: Transacting = async (transaction) => {
      this.#writer = writer;
      return this.#table.applyAll(transaction);
    };
    return { transact };
  }

  get commonScript(): FaultScript {
    return this.#mishaps.commonScript;
  }

  handedOut(self: Incarnation, lease: Believed): void {
    this.#records.handedOut(self, lease);
  }

  lengthAsked(lease: Believed): (leaseMs: number) => void {
    return this.#records.lengthAsked(lease);
  }

  fail(invariant: string, what: string): void {
    this.#violations.push({ invariant, atMs: this.time.nowMs, what });
  }

  readonly happened = (fault: string, victim: Incarnation | undefined): void => {
    this.#count(fault, 1);
    this.note({ kind: "process", by: victim?.name ?? "table", what: `note: ${fault}` });
  };

  readonly longHold: Scenery["longHold"] = () => {
    return this.live.get(this.exchange.longHold?.by ?? "");
  };

  readonly expiring: Scenery["expiring"] = () => this.#records.expiring();

  readonly deleteRecord = (name: string): boolean => this.#table.deleteItem(keyOf(name));

  readonly deleteSession = (random: SeededRandom): string | undefined => {
    // Late copies of the first two writes could recreate a younger session: verification/README.md.
    const oldMs = this.time.nowMs - (this.plan.faults.longestDelayMs ?? 0) - LATE_MS;
    const old = this.#records.sessionsBefore(oldMs, !random.chance(0.2));
    const session = old[random.integer(0, Math.max(old.length - 1, 0))];
    if (session !== undefined) this.#table.deleteItem(sessionKeyOf(session.id));
    return session?.by;
  };

  isHeldBy(name: string, holder: string, fence: bigint): boolean {
    const item = this.#table.item(keyOf(name));
    const [h, f] = [item?.["holder"], item?.["fence"]];
    if (h === undefined || !("S" in h) || f === undefined || !("N" in f)) return false;
    return h.S === holder && BigInt(f.N) === fence;
  }

  async run(): Promise<Outcome> {
    const { plan } = this;
    for (let index = 0; index < plan.processes; index += 1) this.start();
    const turns = plan.kind === "ages" || plan.kind === "aged world" ? 3 : 1;
    for (let turn = 1; turn <= turns; turn += 1) {
      await this.#goOn((plan.lengthMs * turn) / turns + this.#skippedMs);
      if (turn < turns) await this.#skipDays();
    }
    const simulatedMs = this.time.nowMs - this.#skippedMs;
    await this.#settle();
    const history = this.#history;
    return {
      kind: plan.kind,
      violations: [...this.#violations, ...check(history, termsOf(plan))].filter((violation) =>
        isJudged(plan.kind, violation),
      ),
      history,
      grants: this.#grants,
      faults: this.#faults,
      simulatedMs,
      get hash(): string {
        const hash = createHash("sha256");
        for (const event of history) hash.update(`${textOf(event)}\n`);
        return hash.digest("hex");
      },
    };
  }

  start(): void {
    this.#started += 1;
    const name = `p${this.#started}`;
    const random = this.#random.fork();
    const rate = firstRateOf(this.plan, this.#started, this.#random);
    if (rate === 1 - this.plan.maxClockDrift || rate === 1 + this.plan.maxClockDrift) {
      this.#count("clocks at an end of the drift bound", 1);
    }
    this.note({ kind: "process", by: name, what: "started" });
    this.live.set(name, new Incarnation(this, name, rate, random, this.plan.workersPerProcess));
  }

  crash(victim: Incarnation): boolean {
    const isCalm = ["calm world", "late world"].includes(this.plan.kind);
    if (this.isOver || isCalm || victim.process.state !== "running") return false;
    this.happened("killed", victim);
    this.retire(victim);
    this.start();
    return true;
  }

  readonly tamper = (random: SeededRandom): boolean => this.#tampering?.strike(random) === true;

  retire(incarnation: Incarnation): void {
    incarnation.process.kill();
    incarnation.happened("killed");
    this.live.delete(incarnation.name);
    this.#addFaults(incarnation);
  }

  async #goOn(untilMs: number): Promise<void> {
    while (this.time.nowMs < untilMs) {
      const leftMs = untilMs - this.time.nowMs;
      const pauseMs = this.plan.mishapEveryMs * 2 * this.#random.fraction();
      await this.time.advance(Math.min(pauseMs, leftMs));
      if (this.time.nowMs < untilMs) this.#mishaps.strike();
    }
  }

  /**
   * Skips days: some processes are paused in the middle of their work, some are killed, the rest are at rest. TTL
   * deletes expired items, at once or late.
   */
  async #skipDays(): Promise<void> {
    const random = this.#random;
    const sleepers = [...this.live.values()].filter(
      ({ process }) => process.state === "running" && random.chance(0.3),
    );
    for (const sleeper of sleepers) {
      sleeper.happened("hindered");
      sleeper.process.pause({ frozen: random.chance(0.5) ? "monotonic" : "none" });
    }
    const awaken = this.#calmDown();
    if (await this.#comesToRest(sleepers)) await this.#passDays();
    for (const sleeper of sleepers) {
      sleeper.process.resume({ first: random.chance(0.5) ? "io" : "timers" });
      sleeper.happened("free again");
    }
    // A new process has not seen the earlier fences: only its clock says where to start.
    for (const victim of [...this.live.values()]) {
      if (!random.chance(0.5)) continue;
      this.happened("killed", victim);
      this.retire(victim);
      this.start();
    }
    awaken();
  }

  async #passDays(): Promise<void> {
    const random = this.#random;
    const beforeMs = this.time.nowMs;
    // Also skip to right after the retention on a slow clock: at this time a fence could go back.
    const days = random.chance(0.4) ? 4 + 5 * random.fraction() : 9 + 30 * random.fraction();
    await this.time.advance(days * DAY_MS);
    this.#skippedMs += this.time.nowMs - beforeMs;
    this.happened("days passed", undefined);
    const lateMs = random.chance(0.5) ? 0 : random.fraction() * 3 * DAY_MS;
    const expired = this.#table.deleteExpired((this.time.wallMs - lateMs) / 1000);
    this.#count("deleted by TTL", expired.length);
  }

  /** Lets every worker rest when it holds nothing; returns the function which ends the rest. */
  #calmDown(): () => void {
    this.isQuiet = true;
    let awaken = (): void => undefined;
    this.awakening = new Promise((resolve) => {
      awaken = resolve;
    });
    return () => {
      this.isQuiet = false;
      awaken();
    };
  }

  /** Resolves to whether every awake process has come to rest, with no background work left. */
  async #comesToRest(sleepers: readonly Incarnation[]): Promise<boolean> {
    const isResting = (one: Incarnation): boolean => sleepers.includes(one) || one.isResting;
    for (let second = 0; second < 120; second += 1) {
      await this.time.advance(1_000);
      if (![...this.live.values()].every(isResting)) continue;
      await this.time.advance(2 * this.plan.leaseMs[1] + 10_000);
      return true;
    }
    return false;
  }

  /** Ends the faults and all processes, and checks the remains. */
  async #settle(): Promise<void> {
    this.isOver = true;
    this.#mishaps.end();
    this.#tampering?.end(this.#random);
    for (const incarnation of this.live.values()) {
      this.#addFaults(incarnation);
      incarnation.network.clear();
      if (incarnation.process.state === "paused") {
        incarnation.process.resume();
        incarnation.happened("free again");
      }
    }
    await this.time.advance(0);
    const [, longestLease] = this.plan.leaseMs;
    const live = [...this.live.values()];
    const settling = new Settling(this.time, (invariant, what) => this.fail(invariant, what));
    // In a world, a transfer without an import keeps its lock, and an importer may do the same again.
    const limitMs = 20 * (longestLease + 1_000) + 20_000 + 2 * this.exchange.longestMs;
    await settling.expectEnd(
      "a worker",
      live.flatMap(({ workers }) => workers),
      limitMs,
    );
    // With longer leases, most were released long before their first renewal would have been due.
    if (this.plan.kind === "late world") {
      await this.time.advance(1_000);
      this.#records.forgetEnded();
      const left = this.exchange.ended.whatIsLeft();
      if (left !== undefined) this.fail("memory", left);
    }
    const newcomer = this.#newcomer("newcomer");
    // Calls may have extended a lease by hand, by half a second each time.
    if (this.plan.world === undefined) {
      // Where processes die, the newcomer may be far back in a queue of dead waiters: three of its periods, see `inTime`.
      const lateMs = this.plan.kind === "crash" ? Math.max(30_000, longestLease) : 0;
      const limitMs = (longestLease + 5_000) * 1.1 + 2_000 + lateMs;
      await settling.expectFree(newcomer, this.plan.names, limitMs);
    } else {
      const newcomers = [newcomer, this.#newcomer("another")] as const;
      await settleWorld(this, settling, newcomers, live, this.#table);
    }
    if (this.plan.sessions > 0) {
      await settling.expectClosed(live.map(({ sessions }) => sessions?.end() ?? Promise.resolve()));
      // A client closes its shared session after a lease without locks on the session.
      await this.time.advance(2 * longestLease + 10_000);
      for (const incarnation of live) incarnation.happened("at rest");
    }
    await settling.expectClosed(live.map(({ locks }) => locks.close()));
    for (const { name } of live) this.protocol.closed(name);
    await this.time.advance(60_000);
    settling.expectNothingLeft(live, this.reported, { hasFaults: this.plan.kind !== "calm" });
  }

  #newcomer(name: string): Incarnation {
    const newcomer = new Incarnation(this, name, 1, this.plan.random.fork(), 0);
    newcomer.network.clear();
    return newcomer;
  }

  #addFaults(incarnation: Incarnation): void {
    for (const [fault, times] of Object.entries(incarnation.network.injected)) {
      this.#count(fault, times);
    }
  }

  #count(fault: string, times: number): void {
    this.#faults[fault] = (this.#faults[fault] ?? 0) + times;
  }
}

function keyOf(name: string) {
  return { pk: { S: `lock#${name}` }, sk: { S: "lease" } };
}

/**
 * How far the first fence of a name may be from the true time. A client corrects its clock only if it is wrong by more
 * than an hour. Clocks are stepped by minutes in all; within weeks, they drift by hours.
 */
function largestWallErrorMs({ kind, world, wallOffsetMs }: Plan): number | undefined {
  if (world === undefined || kind === "aged world") return undefined;
  return wallOffsetMs + (world.hasWrongClocks ? HOUR_MS : STEPS_MS);
}

/** The record of a free lock after a grant to this ticket. */
function freeRecord(ticket: number): Item {
  const [one, last] = [{ N: "1" }, { N: String(ticket) }];
  return { v: one, version: one, fence: one, tail: last, served: last };
}

function sessionKeyOf(session: string) {
  return { pk: { S: `session#${session}` }, sk: { S: "lease" } };
}

/** Runs a plan. */
export function simulatePlan(plan: Plan): Promise<Outcome> {
  return new Simulation(plan).run();
}

/** Runs one seed of the world for this simulated time. */
export function simulateWorld(seed: number, lengthMs: number, kind?: WorldKind): Promise<Outcome> {
  return simulatePlan(worldPlanOf(seed, lengthMs, kind));
}

/** Runs one seed for this simulated time. */
export function simulate(seed: number, lengthMs: number): Promise<Outcome> {
  return simulatePlan(planOf(seed, lengthMs));
}
