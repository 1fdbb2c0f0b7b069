import { createHash } from "node:crypto";
import { Holdfast, type Lease } from "../src/index.js";
import type { Item, TablePort } from "../src/platform/table.js";
import { FaultyTable } from "../src/testing/faults/faults.js";
import { MemoryTable, type TableChange } from "../src/testing/table/memory-table.js";
import type { SeededRandom } from "../src/testing/time/seeded-random.js";
import type { VirtualProcess } from "../src/testing/time/virtual-process.js";
import { VirtualTime } from "../src/testing/time/virtual-time.js";
import { check } from "./checkers.js";
import type { Event, Timed, Violation } from "./history.js";
import { firstRateOf, type Plan, planOf, rateOf } from "./plan.js";
import { work } from "./worker.js";

/** What one run showed. */
export interface Outcome {
  readonly violations: readonly Violation[];
  readonly history: readonly Timed[];
  readonly grants: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly simulatedMs: number;
  /** The same seed gives the same hash, wherever it runs. */
  readonly hash: string;
}

type NoteOf = Event extends infer E ? (E extends Event ? Omit<E, "by"> : never) : never;

/** One life of one process: from its start until it is killed or the run ends. */
export class Incarnation {
  readonly simulation: Simulation;
  readonly name: string;
  readonly process: VirtualProcess;
  readonly network: FaultyTable;
  readonly locks: Holdfast;
  readonly workers: Promise<void>[] = [];

  constructor(simulation: Simulation, name: string, rate: number, random: SeededRandom) {
    const { plan, time } = simulation;
    this.simulation = simulation;
    this.name = name;
    this.process = time.process({
      rate,
      wallOffsetMs: random.integer(-4_000, 4_000),
    });
    const latency = (): number => plan.latencyMs * random.fraction();
    this.network = new FaultyTable(simulation.portOf(name), this.process, {
      latency: () => ({ requestMs: latency(), responseMs: latency() }),
    });
    this.network.random(random.fork(), plan.faults);
    this.locks = new Holdfast({
      client: this.network,
      table: "locks",
      owner: name,
      requestTimeout: 1_000,
      driftBound: plan.driftBound,
      onError: (error) => simulation.reported.push(error),
      surroundings: {
        clock: this.process.clock,
        timers: this.process.timers,
        random: random.fork(),
      },
    });
    for (let worker = 0; worker < plan.workersPerProcess; worker += 1) {
      const task = work(this, random.fork());
      task.catch((error: unknown) => simulation.fail("unexpected error", String(error)));
      this.workers.push(task);
    }
  }

  note(event: NoteOf): void {
    this.simulation.note({ ...event, by: this.name } as Event);
  }

  sleep(forMs: number): Promise<void> {
    return new Promise((resolve) => this.process.timers.set(forMs, true, resolve));
  }

  after(delayMs: number, callback: () => void): void {
    this.process.timers.set(delayMs, true, callback);
  }
}

/** One seeded run of the shipped kernel in virtual time. */
export class Simulation {
  readonly plan: Plan;
  readonly time = new VirtualTime();
  readonly table: MemoryTable;
  readonly reported: Error[] = [];
  isOver = false;
  readonly #history: Timed[] = [];
  readonly #violations: Violation[] = [];
  readonly #live = new Map<string, Incarnation>();
  readonly #faults: Record<string, number> = {};
  /** Leases that were handed out and may be believed in, with who has them. */
  readonly #leases = new Set<{ readonly lease: Lease; readonly self: Incarnation }>();
  readonly #owners = new Map<string, string>();
  #grants = 0;
  #started = 0;
  /** Whose request the table is carrying out. */
  #writer = "";

  constructor(plan: Plan) {
    this.plan = plan;
    this.table = new MemoryTable({
      keyAttributes: ["pk", "sk"],
      time: this.time,
      keepsLog: false,
      onChange: (change) => this.#changed(change),
    });
  }

  note(event: Event): void {
    if (event.kind === "granted") this.#grants += 1;
    this.#history.push({ ...event, atMs: this.time.nowMs });
  }

  /** The table as one process reaches it: the same, but it is known whose request it is. */
  portOf(writer: string): TablePort & Pick<MemoryTable, "staleRead" | "deleteItem"> {
    const { table } = this;
    return {
      write: (write, call) => {
        this.#writer = writer;
        return table.write(write, call);
      },
      read: (read, call) => table.read(read, call),
      scan: (scan, call) => table.scan(scan, call),
      staleRead: (read, changesAgo) => table.staleRead(read, changesAgo),
      deleteItem: (key) => table.deleteItem(key),
      clockCorrectionMs: 0,
    };
  }

  handedOut(self: Incarnation, lease: Lease): void {
    this.#leases.add({ lease, self });
  }

  fail(invariant: string, what: string): void {
    this.#violations.push({ invariant, atMs: this.time.nowMs, what });
  }

  isHeldBy(name: string, holder: string, fence: bigint): boolean {
    const item = this.table.item({ pk: { S: `lock#${name}` }, sk: { S: "lease" } });
    const [h, f] = [item?.["holder"], item?.["fence"]];
    return (
      h !== undefined &&
      "S" in h &&
      h.S === holder &&
      f !== undefined &&
      "N" in f &&
      BigInt(f.N) === fence
    );
  }

  async run(): Promise<Outcome> {
    const { plan } = this;
    const random = plan.random.fork();
    for (let index = 0; index < plan.processes; index += 1) this.#start(random);
    while (this.time.nowMs < plan.lengthMs) {
      const stepMs = Math.min(plan.mishapEveryMs * 2 * random.fraction(), plan.lengthMs);
      await this.time.advance(Math.min(stepMs, plan.lengthMs - this.time.nowMs));
      if (this.time.nowMs < plan.lengthMs) this.#mishap(random);
    }
    await this.#settle();
    const hash = createHash("sha256");
    for (const event of this.#history) {
      hash.update(
        JSON.stringify(event, (_, value) => (typeof value === "bigint" ? `${value}` : value)),
      );
    }
    return {
      violations: [...this.#violations, ...check(this.#history)],
      history: this.#history,
      grants: this.#grants,
      faults: this.#faults,
      simulatedMs: this.time.nowMs,
      hash: hash.digest("hex"),
    };
  }

  #start(random: SeededRandom): void {
    this.#started += 1;
    const name = `p${this.#started}`;
    const rate = firstRateOf(this.plan, this.#started, random);
    this.#live.set(name, new Incarnation(this, name, rate, random.fork()));
    this.note({ kind: "process", by: name, what: "started" });
  }

  #mishap(random: SeededRandom): void {
    const live = [...this.#live.values()];
    const victim = live[random.integer(0, live.length - 1)];
    if (victim === undefined || victim.process.state !== "running") return;
    const [, longestLease] = this.plan.leaseMs;
    const kind = this.plan.kind === "duel" ? random.integer(8, 14) : random.integer(0, 15);
    const count = (fault: string): void => {
      this.#faults[fault] = (this.#faults[fault] ?? 0) + 1;
      this.note({ kind: "process", by: victim.name, what: fault });
    };
    if (kind < 2) {
      count("killed");
      this.#retire(victim);
      this.#start(random);
    } else if (kind < 6) {
      count("paused");
      victim.process.pause({ frozen: random.chance(0.3) ? "monotonic" : "none" });
      const pauseMs = random.fraction() * 3 * longestLease;
      this.time.timers.set(pauseMs, true, () => {
        if (victim.process.state !== "paused") return;
        victim.process.resume({ first: random.chance(0.5) ? "io" : "timers" });
        this.note({ kind: "process", by: victim.name, what: "resumed" });
      });
    } else if (kind < 8) {
      count("clock stepped");
      victim.process.stepWall((random.fraction() - 0.5) * 10_000);
    } else if (kind < 12) {
      // While nothing arrives, or nothing comes back, only the deadline ends what the holder believes.
      const fault = random.chance(0.5) ? "request-lost" : "response-lost";
      const hears = random.chance(0.5) ? { unknownAfterMs: 1 } : {};
      count(`cut (${fault})`);
      victim.network.script(() => ({ fault, ...hears }));
      this.time.timers.set(random.fraction() * 3 * longestLease, true, () => {
        victim.network.script(undefined);
      });
    } else if (kind < 15) {
      // Slow, and then cut off: the last answer that came was late, so it matters from when it counts.
      count("slow, then cut");
      victim.network.script(() => ({
        fault: "delayed",
        delayMs: random.fraction() * longestLease,
      }));
      const slowMs = random.fraction() * 2 * longestLease;
      this.time.timers.set(slowMs, true, () => {
        const fault = random.chance(0.7) ? "request-lost" : "response-lost";
        victim.network.script(() => ({ fault }));
      });
      this.time.timers.set(slowMs + random.fraction() * 3 * longestLease, true, () => {
        victim.network.script(undefined);
      });
    } else {
      count("rate changed");
      victim.process.setRate(rateOf(random, this.plan.driftBound));
    }
  }

  #retire(incarnation: Incarnation): void {
    incarnation.process.kill();
    this.#live.delete(incarnation.name);
    this.#addFaults(incarnation);
  }

  #addFaults(incarnation: Incarnation): void {
    for (const [fault, times] of Object.entries(incarnation.network.injected)) {
      this.#faults[fault] = (this.#faults[fault] ?? 0) + times;
    }
  }

  /** Faults stop, everybody comes to an end, and what is left is looked at. */
  async #settle(): Promise<void> {
    this.isOver = true;
    for (const incarnation of this.#live.values()) {
      this.#addFaults(incarnation);
      incarnation.network.clear();
      if (incarnation.process.state === "paused") incarnation.process.resume();
    }
    await this.time.advance(0);
    const [, longestLease] = this.plan.leaseMs;
    const limitMs = 20 * (longestLease + 1_000) + 20_000;
    const ended = Promise.all([...this.#live.values()].flatMap(({ workers }) => workers));
    await this.#expect("progress", "a worker never ended", ended, limitMs);
    await this.#expectFree(longestLease);
    const closed = Promise.all([...this.#live.values()].map(({ locks }) => locks.close()));
    await this.#expect("progress", "a client never closed", closed, 30_000);
    await this.time.advance(60_000);
    for (const { name, process } of this.#live.values()) {
      if (process.pendingTimers() > 0) this.fail("no leak", `${name} has timers left`);
    }
    for (const error of this.reported) {
      if (!("code" in error) || error.code !== "outcome-unknown")
        this.fail("no leak", String(error));
    }
  }

  /** Nothing that was given up stands in the way of a newcomer for longer than a lease. */
  async #expectFree(longestLeaseMs: number): Promise<void> {
    const newcomer = new Incarnation(
      { ...this.#asNewcomer() } as Simulation,
      "newcomer",
      1,
      this.plan.random.fork(),
    );
    newcomer.network.clear();
    // A record may have been made longer by hand, by half a second each time.
    const limitMs = (longestLeaseMs + 5_000) * 1.1 + 2_000;
    for (const name of this.plan.names) {
      const run = newcomer.locks.mutex(name).run({ wait: "1h" }, () => undefined);
      await this.#expect("no orphan", `"${name}" was not to be had`, run, limitMs);
    }
    await this.#expect("progress", "the newcomer never closed", newcomer.locks.close(), 30_000);
  }

  #asNewcomer() {
    const { plan, time, reported } = this;
    return {
      plan: { ...plan, workersPerProcess: 0 },
      time,
      reported,
      portOf: (writer: string) => this.portOf(writer),
      note: (event: Event) => this.note(event),
      fail: (invariant: string, what: string) => this.fail(invariant, what),
    };
  }

  async #expect(invariant: string, what: string, promise: Promise<unknown>, limitMs: number) {
    try {
      await this.time.runUntil(promise, { limitMs });
    } catch (error) {
      this.fail(invariant, `${what}: ${String(error)}`);
    }
  }

  #changed({ key, before, after }: TableChange): void {
    const pk = key["pk"];
    if (pk === undefined || !("S" in pk)) return;
    const name = pk.S.slice("lock#".length);
    const was = grantIn(before);
    const is = grantIn(after);
    if (is?.holder !== undefined && is.fence !== was?.fence)
      this.#owners.set(is.holder, this.#writer);
    this.#checkOwner(name, was, is);
    if (is === undefined || (is.holder === was?.holder && is.fence === was?.fence)) return;
    this.note({ kind: "record", by: this.#writer, name, ...is });
    this.#checkBelief(name, is.fence, is.holder);
  }

  // At the very instant at which the table makes a new grant, nobody may still believe in an old one:
  // sharper than to wait for somebody to act.
  #checkBelief(name: string, fence: bigint, holder: string | undefined): void {
    for (const entry of this.#leases) {
      const { lease, self } = entry;
      if (lease.name !== name || self.process.state === "paused") continue;
      if (self.process.state === "killed" || !lease.isHeld) this.#leases.delete(entry);
      else if (holder !== undefined && lease.fence < fence) {
        this.fail(
          "exclusion",
          `${self.name} believes in "${name}" (${lease.fence}) as ${fence} is granted`,
        );
      }
    }
  }

  // Nobody writes a held record but its owner, or whoever takes it over for good.
  #checkOwner(name: string, was: GrantIn | undefined, is: GrantIn | undefined): void {
    if (was?.holder === undefined || is?.holder !== was.holder || is.fence !== was.fence) return;
    const owner = this.#owners.get(was.holder);
    if (owner !== this.#writer) {
      this.fail("ownership", `${this.#writer} wrote "${name}", which ${owner} holds`);
    }
  }
}

interface GrantIn {
  readonly holder: string | undefined;
  readonly fence: bigint;
}

function grantIn(item: Item | undefined): GrantIn | undefined {
  const [holder, fence] = [item?.["holder"], item?.["fence"]];
  if (fence === undefined || !("N" in fence)) return undefined;
  return {
    holder: holder !== undefined && "S" in holder ? holder.S : undefined,
    fence: BigInt(fence.N),
  };
}

/** Runs one seed for this long in simulated time. */
export function simulate(seed: number, lengthMs: number): Promise<Outcome> {
  return new Simulation(planOf(seed, lengthMs)).run();
}
