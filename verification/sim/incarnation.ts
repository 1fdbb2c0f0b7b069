import { Holdfast, sharedSession } from "../../packages/holdfast/src/index.js";
import { inMs } from "../../packages/holdfast/src/internal/duration.js";
import type { Random } from "../../packages/holdfast/src/platform/random.js";
import type { TablePort } from "../../packages/holdfast/src/platform/table.js";
import type { FaultScript } from "../../packages/testing/src/faults/fault-plan.js";
import { FaultyTable } from "../../packages/testing/src/faults/faults.js";
import type { TamperableTable } from "../../packages/testing/src/table/memory-table.js";
import { type SeededRandom, seededRandom } from "../../packages/testing/src/time/seeded-random.js";
import type { VirtualProcess } from "../../packages/testing/src/time/virtual-process.js";
import type { VirtualTime } from "../../packages/testing/src/time/virtual-time.js";
import { Budget } from "./budget.js";
import { copiedRandom } from "./copied-random.js";
import type { Event, Happening } from "./history.js";
import { observed } from "./observed.js";
import { paced } from "./pacing.js";
import { type Plan, wallOffsetOf } from "./plan.js";
import type { Protocol } from "./protocol/protocol.js";
import type { Believed } from "./records.js";
import { type HoldsBy, SessionKeeper } from "./session-keeper.js";
import { Witness } from "./witness.js";
import { work } from "./worker.js";
import { KeptSession } from "./world/kept-session.js";
import { live } from "./world/operations/worker.js";
import { Silence } from "./world/silence.js";
import { skewedTable } from "./world/skewed-table.js";
import { COARSE_STEP_MS, type Exchange } from "./world/traits.js";
import { wrongDates } from "./wrong-dates.js";

type NoteOf = Event extends infer E ? (E extends Event ? Omit<E, "by"> : never) : never;

/** What a process needs from its run. */
export interface Run {
  readonly plan: Plan;
  readonly time: VirtualTime;
  /** Errors which no caller waited for. */
  readonly reported: Error[];
  readonly isOver: boolean;
  /** Whether all workers have to rest until `awakening` resolves. */
  readonly isQuiet: boolean;
  readonly awakening: Promise<void>;
  /** Judges every write by the rules of the protocol. */
  readonly protocol: Protocol;
  /** Faults of every process's requests; they come before the faults of one process. */
  readonly commonScript: FaultScript;
  /** The data that the processes of a world exchange. */
  readonly exchange: Exchange;
  portOf(writer: string): TamperableTable;
  note(event: Event): void;
  fail(invariant: string, what: string): void;
  handedOut(self: Incarnation, lease: Believed): void;
  /** The holder asks for another length of its lease now, and calls the result when the change is acknowledged. */
  lengthAsked(lease: Believed): (leaseMs: number) => void;
  /** Kills a process and starts another, if the run has such faults; returns whether it did. */
  crash(victim: Incarnation): boolean;
  isHeldBy(name: string, holder: string, fence: bigint): boolean;
}

/** An incarnation of a process, from the start until the process is killed or the run ends. */
export class Incarnation {
  readonly run: Run;
  readonly name: string;
  readonly process: VirtualProcess;
  readonly network: FaultyTable;
  readonly locks: Holdfast;
  readonly workers: Promise<void>[] = [];
  readonly holdsBy: HoldsBy;
  /** Present if the process holds by sessions opened by hand. */
  readonly sessions: SessionKeeper | undefined;
  /** Present in some runs of the world. */
  readonly keptSession: KeptSession | undefined;
  /** What the process learns of outages while its calls wait. */
  readonly silence: Silence;
  /** The bursts of this process that have not ended. */
  bursts = 0;
  /** The number of workers at rest. */
  resting = 0;
  /** Faults of this process's requests alone. */
  script: FaultScript | undefined;
  /** Faults aimed at a few of this process's writes: see `world/operations/aims.ts`. */
  readonly aims = new Set<FaultScript>();
  readonly #budget: Budget;
  /** The holders of the leases that this process released before their loss. */
  readonly #released = new Set<string>();
  readonly #exported = new Set<string>();

  constructor(run: Run, name: string, rate: number, random: SeededRandom, workers: number) {
    const { plan, time } = run;
    this.run = run;
    this.name = name;
    this.process = time.process({
      rate,
      wallOffsetMs: wallOffsetOf(plan, random) + worldWallOffsetMs(plan, random),
      ...bootStepOf(plan, random),
    });
    const longestMs = longestLatencyMs(plan, random);
    const latency = (): number => longestMs * random.fraction();
    this.network = new FaultyTable(run.portOf(name), this.process, {
      latency: () => ({ requestMs: latency(), responseMs: latency() }),
      ...(plan.world?.connections === undefined ? {} : { connections: plan.world.connections }),
    });
    this.network.random(random.fork(), plan.faults);
    this.network.script((request, ordinal) => {
      const fault = run.commonScript(request, ordinal) ?? this.script?.(request, ordinal);
      return fault ?? this.#aimedAt(request, ordinal);
    });
    this.holdsBy = workers === 0 ? "each" : holdsByOf(plan, random);
    this.#budget = new Budget(plan, (what) => run.fail("request budget", `${name} ${what}`));
    this.silence = new Silence({
      ...{ name, clock: this.process.clock, timers: this.process.timers },
      requestTimeoutMs: plan.requestTimeoutMs,
      fail: (what) => run.fail("no silence", what),
    });
    this.locks = new Holdfast({
      client: this.silence.port(
        paced(
          new Witness(
            observed(this.#signed(), run.protocol.observerOf(name)),
            this.#listener(),
            plan.kind === "calm",
          ),
          () => time.nowMs,
          (what) => run.fail("paced", `${name} ${what}`),
        ),
      ),
      table: "locks",
      owner: name,
      requestTimeout: inMs(plan.requestTimeoutMs),
      maxClockDrift: plan.maxClockDrift,
      ...(plan.dates === undefined ? {} : { maxClockError: inMs(plan.dates.boundMs) }),
      ...(plan.world === undefined ? {} : { lease: inMs(plan.leaseMs[0]) }),
      ...(this.holdsBy === "shared"
        ? { sharedSession: sharedSession(), lease: inMs(plan.leaseMs[0]) }
        : {}),
      ring: run.exchange.rings?.choice(this.process),
      onError: (error) => {
        this.silence.told(error);
        // A wrong `Date`, or clocks that stood still: not a leak.
        const isOfDate = plan.dates !== undefined && error.message.includes("`Date`");
        if (!isOfDate) run.reported.push(error);
      },
      environment: {
        clock: this.process.clock,
        timers: this.process.timers,
        random: this.#randomOfClient(random.fork()),
      },
    });
    if (this.holdsBy === "session") {
      this.sessions = new SessionKeeper(this, random.fork());
      this.#begin(this.sessions.work());
    }
    if (plan.world?.keepsSessions === true && workers > 0) this.keptSession = new KeptSession(this);
    if (plan.world !== undefined && workers > 0) {
      for (const task of live(this, random, plan.world, workers)) this.#begin(task);
    } else {
      for (let worker = 0; worker < workers; worker += 1) this.#begin(work(this, random.fork()));
    }
  }

  readonly #aimedAt: FaultScript = (request, ordinal) => {
    for (const aim of [...this.aims]) {
      const fault = aim(request, ordinal);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };

  /** The network of this process, with single wrong `Date`s in some runs. */
  get #dated(): TablePort {
    const { process, network, run } = this;
    const { seed, dates } = run.plan;
    if (dates?.wrongPart === undefined) return network;
    const named = [...this.name].reduce((sum, letter) => 31 * sum + letter.charCodeAt(0), 0);
    return wrongDates(network, {
      random: seededRandom(1_000_003 * seed + (named % 1_000_000)),
      part: () => dates.wrongPart ?? 0,
      mayBeBehind: () => true,
      clock: process.clock,
      isWallRight: () => Math.abs(process.clock.wallMs() - run.time.wallMs) < 1,
    });
  }

  #signed(): TablePort {
    const { process, run } = this;
    const network = this.#dated;
    if (run.plan.world?.hasWrongClocks !== true) return network;
    return skewedTable(network, process, () => run.time.wallMs - process.clock.wallMs());
  }

  // Ids of copies differ only by the time at which they are drawn.
  #randomOfClient(random: SeededRandom): Random {
    const { plan, time } = this.run;
    if (plan.world?.areCopies !== true) return random;
    const aheadMs = 50 * random.fraction();
    return copiedRandom(() => time.nowMs + aheadMs, plan.seed);
  }

  #begin(task: Promise<void>): void {
    task.catch((error: unknown) => this.run.fail("unexpected error", String(error)));
    this.workers.push(task);
  }

  /** Whether all workers are at rest. */
  get isResting(): boolean {
    return this.resting === this.workers.length;
  }

  note(event: NoteOf): void {
    if (event.kind === "exports") this.#exported.add(`${event.fence} ${event.name}`);
    // An export without an answer is rolled back, by a write for each send: late copies of it may still arrive.
    if (event.kind === "released" && event.holder !== undefined) {
      const isExport = this.#exported.has(`${event.fence} ${event.name}`);
      if (!isExport) this.#released.add(event.holder);
    }
    this.run.note({ ...event, by: this.name } as Event);
  }

  happened(what: Happening): void {
    this.note({ kind: "process", what });
  }

  /** Counts a call to the library which costs requests. */
  asked(): void {
    this.#budget.asked(this.run.time.nowMs);
  }

  /** Counts so many names more, which a call polls by itself, until it settles. */
  async polling<T>(names: number, call: Promise<T>): Promise<T> {
    this.#budget.polls(names);
    try {
      return await call;
    } finally {
      this.#budget.polls(-names);
    }
  }

  /** Kills this process now; returns whether it did. */
  crash(): boolean {
    return this.run.crash(this);
  }

  sleep(forMs: number): Promise<void> {
    return new Promise((resolve) => this.process.timers.set(forMs, true, resolve));
  }

  after(delayMs: number, callback: () => void): void {
    this.process.timers.set(delayMs, true, callback);
  }

  async restWhileQuiet(): Promise<void> {
    while (this.run.isQuiet) {
      this.resting += 1;
      await this.process.gate(this.run.awakening);
      this.resting -= 1;
    }
  }

  #listener() {
    const { run } = this;
    const budget = (): Budget => this.#budget;
    return {
      get trueNowMs(): number {
        return run.time.nowMs;
      },
      note: (event: NoteOf) => this.note(event),
      sent: (removed?: string) => budget().sent(run.time.nowMs, removed),
      releasedAgain: (name: string, holder = "") => {
        // The release of a lost lease helps waiters, and costs a request also after the client has freed the record.
        if (!this.#released.has(holder)) return;
        run.fail("request budget", `${this.name} released "${name}" again after the answer`);
      },
    };
  }
}

// In a world, some processes are far from the table.
function longestLatencyMs({ world, latencyMs, leaseMs }: Plan, random: SeededRandom): number {
  if (world === undefined || !random.chance(world.slow)) return latencyMs;
  return Math.min(8 * latencyMs, leaseMs[0] / 15);
}

const MONTH_MS = 30 * 24 * 3_600_000;

function worldWallOffsetMs({ world }: Plan, random: SeededRandom): number {
  if (world?.hasWrongClocks !== true || random.chance(0.3)) return 0;
  return (random.chance(0.5) ? 1 : -1) * MONTH_MS * random.fraction();
}

function bootStepOf({ world }: Plan, random: SeededRandom): { readonly bootStepMs?: number } {
  return world?.hasCoarseClocks === true && random.chance(0.7)
    ? { bootStepMs: COARSE_STEP_MS }
    : {};
}

function holdsByOf(plan: Plan, random: SeededRandom): HoldsBy {
  if (!random.chance(plan.sessions)) return "each";
  return random.chance(0.5) ? "shared" : "session";
}
