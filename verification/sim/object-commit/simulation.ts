import { createHash } from "node:crypto";
import { isHoldfastError } from "../../../packages/holdfast/src/errors.js";
import {
  type ObjectCommitter,
  objectCommitter,
} from "../../../packages/object-commit/src/committer.js";
import type { FixedStrategy } from "../../../packages/object-commit/src/options.js";
import { FaultyTable } from "../../../packages/testing/src/faults/faults.js";
import { FaultyObjects } from "../../../packages/testing/src/objects/faulty-objects.js";
import {
  MemoryObjects,
  type ObjectChange,
} from "../../../packages/testing/src/objects/memory-objects.js";
import { MemoryTable } from "../../../packages/testing/src/table/memory-table.js";
import {
  type SeededRandom,
  seededRandom,
} from "../../../packages/testing/src/time/seeded-random.js";
import type { VirtualProcess } from "../../../packages/testing/src/time/virtual-process.js";
import { VirtualTime } from "../../../packages/testing/src/time/virtual-time.js";
import {
  type CommitViolation,
  counterOf,
  doubleCreate,
  lostUpdate,
  takenTwice,
  wrongGeneration,
} from "./checkers.js";

/** Everything that defines one run. */
export interface CommitPlan {
  readonly seed: number;
  readonly strategy: FixedStrategy;
  readonly writers: number;
  /** The increments of each writer. */
  readonly increments: number;
  /** The longest time of a request in flight. `dynamo` tolerates `timeout` times (rate - 1). */
  readonly longestDelayMs: number;
  /** The probability of a fault for each request; 0 for none. */
  readonly faults: number;
}

/** The result of one run. */
export interface CommitOutcome {
  readonly violations: readonly CommitViolation[];
  /** The final value of the counter. */
  readonly count: number;
  readonly acknowledged: number;
  readonly unknown: number;
  readonly faults: number;
  readonly mishaps: number;
  readonly takeovers: number;
  /** The objects to delete or to rename, and those of which a writer was told that it did. */
  readonly offered: number;
  readonly taken: number;
  readonly hash: string;
}

export const COMMIT_TIMEOUT_MS = 2_000;
export const COMMIT_RATE = 3;
const COUNTER = "counter";
/** How long writers compete for the same object. */
const OFFER_MS = 1_000;
const LIMIT_MS = 24 * 3_600_000;

/** An incarnation of a writer. */
interface Life {
  readonly committer: ObjectCommitter;
  readonly process: VirtualProcess;
  readonly store: FaultyObjects;
  readonly table: FaultyTable;
}

/**
 * Writers increment one counter, create objects, and race to delete and to rename others, over a bucket and a table in memory, in virtual time: answers are
 * lost, requests late, writers paused for longer than their time, and killed.
 */
class CommitSimulation {
  readonly #plan: CommitPlan;
  readonly #time = new VirtualTime();
  readonly #random: SeededRandom;
  readonly #violations: CommitViolation[] = [];
  readonly #hash = createHash("sha256");
  readonly #lives = new Map<string, Life>();
  readonly #restarts = new Map<string, () => void>();
  readonly #offers = new Map<string, string>();
  readonly #takers = new Map<string, string[]>();
  readonly #objects: MemoryObjects;
  readonly #table: MemoryTable;
  #acknowledged = 0;
  #unknown = 0;
  #faults = 0;
  #mishaps = 0;
  #takeovers = 0;
  #isOver = false;

  constructor(plan: CommitPlan) {
    this.#plan = plan;
    this.#random = seededRandom(plan.seed);
    this.#objects = new MemoryObjects({
      // The store for which `dynamo` exists accepts conditions, and ignores them.
      conditions: plan.strategy === "dynamo" ? "ignored" : "honoured",
      onChange: (change) => this.#objectChanged(change),
    });
    this.#table = new MemoryTable({
      keyAttributes: ["path", "etag"],
      time: this.#time,
      keepsLog: false,
      onChange: (change) => {
        const wrong = wrongGeneration(change);
        if (wrong !== undefined) this.#violate("generations", wrong);
        const generation = change.after?.["generation"];
        const isNew = JSON.stringify(generation) !== JSON.stringify(change.before?.["generation"]);
        if (isNew && change.before !== undefined) this.#takeovers += 1;
      },
    });
  }

  async run(): Promise<CommitOutcome> {
    const names = Array.from({ length: this.#plan.writers }, (_, index) => `w${index}`);
    const all = Promise.all(names.map((name) => this.#work(name)));
    if (this.#plan.faults > 0) this.#planMishap();
    await this.#time.runUntil(all, { limitMs: LIMIT_MS });
    this.#isOver = true;
    // All requests still in flight arrive.
    await this.#time.advance(2 * this.#plan.longestDelayMs + 10_000);
    const { count } = counterOf(this.#objects.object(COUNTER)?.body);
    for (const life of this.#lives.values()) this.#countFaults(life);
    return {
      violations: this.#violations,
      count,
      acknowledged: this.#acknowledged,
      unknown: this.#unknown,
      faults: this.#faults,
      mishaps: this.#mishaps,
      takeovers: this.#takeovers,
      offered: this.#offers.size,
      taken: this.#takers.size,
      hash: this.#hash.digest("hex"),
    };
  }

  /** Runs one writer, through all its incarnations. */
  async #work(name: string): Promise<void> {
    let done = 0;
    while (done < this.#plan.increments) {
      const life = this.#begin(name);
      const killed = new Promise<"killed">((resolve) => {
        this.#restarts.set(name, () => resolve("killed"));
      });
      const living = (async () => {
        while (done < this.#plan.increments) {
          const turn = done + 1;
          if (await this.#increment(life, name, turn)) done = turn;
          if (turn % 5 === 0) await this.#create(life, turn);
          if (turn % 3 === 0) await this.#take(life, name);
        }
      })();
      if ((await Promise.race([living, killed])) === "killed") {
        living.catch(() => undefined);
        this.#countFaults(life);
      }
    }
    this.#restarts.delete(name);
  }

  #begin(name: string): Life {
    const { strategy, faults, longestDelayMs } = this.#plan;
    const random = this.#random.fork();
    const process = this.#time.process({
      rate: 0.99 + 0.02 * random.fraction(),
      wallOffsetMs: random.integer(-60_000, 60_000),
    });
    const latency = () => ({
      requestMs: 1 + 20 * random.fraction(),
      responseMs: 1 + 20 * random.fraction(),
    });
    const store = new FaultyObjects(this.#objects, process, { latency });
    const table = new FaultyTable(this.#table, process, { latency });
    const each = faults / 6;
    const common = { "request-lost": each, "response-lost": each, throttled: each, delayed: each };
    const late = { "applied-late": each };
    const doubled = { "response-lost-and-retried": each };
    // A client which resends writes by itself is rejected for `dynamo`, which has no defence against this.
    const ofStore = strategy === "dynamo" ? {} : doubled;
    store.random(random.fork(), { faults: { ...common, ...late, ...ofStore }, longestDelayMs });
    table.random(random.fork(), { faults: { ...common, ...late, ...doubled }, longestDelayMs });
    const committer = objectCommitter({
      s3: store,
      bucket: "bucket",
      strategy,
      owner: name,
      requestTimeout: "500ms",
      transferTimeout: 1_000,
      wait: "30s",
      dynamodb: {
        client: table,
        table: "commits",
        timeout: COMMIT_TIMEOUT_MS,
        maxClockSkewRate: COMMIT_RATE,
      },
      environment: { clock: process.clock, timers: process.timers, random: random.fork() },
    });
    const life = { committer, process, store, table };
    this.#lives.set(name, life);
    return life;
  }

  /** Whether the counter contains this increment of the writer, as far as the writer knows. */
  async #increment(life: Life, name: string, turn: number): Promise<boolean> {
    try {
      await life.committer.update(
        COUNTER,
        (current) => {
          const { count, by } = counterOf(current?.body);
          const own = by[name] ?? 0;
          // After an unknown outcome, reading back finds the increment.
          if (own >= turn) return undefined;
          return JSON.stringify({ count: count + 1, by: { ...by, [name]: own + 1 } });
        },
        { attempts: Number.POSITIVE_INFINITY },
      );
      this.#acknowledged += 1;
      return true;
    } catch (error) {
      this.#note(error);
      return false;
    }
  }

  /** All writers create the same objects; each object has one creator. */
  async #create({ committer }: Life, turn: number): Promise<void> {
    try {
      await committer.putIfAbsent(`created/${turn}`, this.#random.id());
    } catch (error) {
      if (!isHoldfastError(error, "already-exists")) this.#note(error);
    }
  }

  /** Writers delete the same objects, or rename them to names of their own; each object has one taker. */
  async #take({ committer }: Life, name: string): Promise<void> {
    const offer = Math.floor(this.#time.nowMs / OFFER_MS);
    const key = `offered/${offer}`;
    const etag = this.#offers.get(key) ?? this.#objects.putByHand(key, key).etag;
    this.#offers.set(key, etag);
    try {
      if (offer % 2 === 0) await committer.delete(key, { ifMatch: etag });
      else await committer.renameIfAbsent(key, `taken/${offer}/${name}`);
    } catch (error) {
      const codes = ["precondition-failed", "not-found", "already-exists"] as const;
      if (!codes.some((code) => isHoldfastError(error, code))) this.#note(error);
      return;
    }
    const takers = this.#takers.get(key) ?? [];
    takers.push(name);
    this.#takers.set(key, takers);
    const wrong = takenTwice(key, takers);
    if (wrong !== undefined) this.#violate("one taker", wrong);
  }

  #note(error: unknown): void {
    const code = isHoldfastError(error) ? error.code : String(error);
    if (code === "outcome-unknown") this.#unknown += 1;
    const isFair = ["outcome-unknown", "throttled", "unreachable", "not-acquired", "lost"];
    if (!isFair.includes(code)) this.#violate("answers", String(error));
  }

  #planMishap(): void {
    this.#time.timers.set(1_000 + 4_000 * this.#random.fraction(), false, () => {
      if (this.#isOver) return;
      this.#mishap();
      this.#planMishap();
    });
  }

  #mishap(): void {
    const names = [...this.#restarts.keys()];
    const name = names[this.#random.integer(0, names.length - 1)];
    const life = name === undefined ? undefined : this.#lives.get(name);
    if (name === undefined || life === undefined || life.process.state !== "running") return;
    this.#mishaps += 1;
    if (this.#random.chance(0.3)) {
      life.process.kill();
      this.#restarts.get(name)?.();
      return;
    }
    life.process.pause({ frozen: this.#random.chance(0.3) ? "monotonic" : "none" });
    const pauseMs = 4 * COMMIT_TIMEOUT_MS * this.#random.fraction();
    this.#time.timers.set(pauseMs, true, () => {
      if (life.process.state !== "paused") return;
      life.process.resume({ first: this.#random.chance(0.5) ? "io" : "timers" });
    });
  }

  #objectChanged(change: ObjectChange): void {
    this.#hash.update(`${this.#time.nowMs} ${change.key} ${change.after?.head.etag}\n`);
    // The probe of copies replaces objects of its own.
    if (change.key.startsWith(".holdfast-probe/")) return;
    const isCounter = change.key === COUNTER;
    const wrong = isCounter ? lostUpdate(change) : doubleCreate(change);
    if (wrong !== undefined)
      this.#violate(isCounter ? "no lost update" : "no double create", wrong);
  }

  #violate(invariant: CommitViolation["invariant"], what: string): void {
    this.#violations.push({ invariant, atMs: this.#time.nowMs, what });
  }

  #countFaults({ store, table }: Life): void {
    const ofTable = Object.values(table.injected).reduce((sum, times) => sum + times, 0);
    this.#faults += store.injected + ofTable;
  }
}

/** Runs one plan to its end. */
export function simulateCommits(plan: CommitPlan): Promise<CommitOutcome> {
  return new CommitSimulation(plan).run();
}
