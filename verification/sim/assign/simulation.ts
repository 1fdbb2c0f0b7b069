import { interruptHolder } from "../../../packages/holdfast/src/admin/index.js";
import { type Assignment, assign } from "../../../packages/holdfast/src/assign/index.js";
import { digestOf } from "../../../packages/holdfast/src/assign/share.js";
import type { Lease } from "../../../packages/holdfast/src/index.js";
import { nativeFormat } from "../../../packages/holdfast/src/native/native.js";
import { MEMBERS } from "../../../packages/holdfast/src/native/native-members.js";
import type { Item } from "../../../packages/holdfast/src/platform/table.js";
import type { SeededRandom } from "../../../packages/testing/src/time/seeded-random.js";
import { drawnFaults, type Machine, orderOf, Site } from "../machine.js";
import { overlapping } from "../overlapping.js";
import {
  type AssignEvent,
  beside,
  freedEarly,
  type ToldRow,
  unspread,
  untold,
} from "./checkers.js";

const PERIOD_MS = 2_000;
const STOP_MS = 1_500;
const DRIFT = 0.01;
const LENGTH_MS = 90_000;
const PROCESSES = 3;
const MOST_PROCESSES = 5;
// A watch without a `Date` for each member that died, and what follows.
const SETTLE_MS = 120_000;
const CALM_ROUNDS = 3;
// Twice a run that goes on after its signal: the name that an operator asks for moves, and then one more may, for the balance. Each
// time the members look, and before the second they wait three periods.
const CALM_MS = 2 * 8 * STOP_MS + 10 * PERIOD_MS;
const FEW_NAMES = 12;
// So many that a member in balance may leave a name or two where they run.
const MANY_NAMES = 60;

/** The result of one run. */
export interface AssignOutcome {
  readonly violations: readonly { readonly invariant: string; readonly what: string }[];
  readonly runs: number;
  readonly mishaps: number;
  /** How many members were left at the end. */
  readonly members: number;
}

const ROWS = MEMBERS.of(nativeFormat({ pk: "pk", sk: "sk" }));

/** A member's row, and where it is. */
interface Row extends ToldRow {
  readonly key: Item;
}

class Simulation extends Site {
  readonly history: AssignEvent[] = [];
  readonly #isWild: boolean;
  readonly members: Member[] = [];
  readonly all: readonly string[];
  /** The names that every member is told, sooner or later. */
  names: readonly string[];
  /** What was wrong whenever nothing should move. */
  readonly unspread: string[] = [];
  readonly untold: string[] = [];
  readonly #operator: Machine;
  mishaps = 0;
  isOver = false;

  constructor(seed: number) {
    super(seed);
    if (this.random.chance(0.5)) this.tellDates();
    this.#isWild = this.random.chance(0.8);
    const count = this.random.chance(0.25) ? MANY_NAMES : FEW_NAMES;
    this.all = Array.from({ length: count }, (_, at) => `n${at}`);
    this.names = this.all;
    this.#operator = this.start({ name: "operator", latencyMs: () => 5, client: {} });
  }

  join(): void {
    const { random } = this;
    const machine = this.start({
      clocks: { rate: 1 + DRIFT * (2 * random.fraction() - 1) },
      latencyMs: () => 20 * random.fraction(),
      client: {
        requestTimeout: "500ms",
        ...{ maxClockDrift: DRIFT, maxClockError: "1s" },
      },
    });
    if (this.#isWild) machine.network.random(random.fork(), drawnFaults(random, 3_000));
    this.members.push(new Member(this, machine, random.fork()));
  }

  get alive(): Member[] {
    return this.members.filter(({ isGone }) => !isGone);
  }

  async run(): Promise<void> {
    for (let at = 0; at < PROCESSES; at += 1) this.join();
    await this.strikeUntil(
      LENGTH_MS,
      () => this.random.integer(500, 8_000),
      () => this.#mishap(),
    );
    this.isOver = true;
    this.names = this.all;
    for (const { machine } of this.alive) machine.heal();
    if (this.alive.length === 0) this.join();
    await this.time.advance(SETTLE_MS);
    for (let round = 0; round < CALM_ROUNDS; round += 1) {
      this.#judge();
      for (const name of this.all) if (this.random.chance(0.3)) this.#interrupt(name);
      if (this.random.chance(0.5)) this.#deleteRow();
      await this.time.advance(CALM_MS);
    }
    this.#judge();
  }

  /** Nothing should move: all names run, evenly, and the rows tell so. */
  #judge(): void {
    const alive = this.alive.map(({ machine }) => machine.name);
    this.unspread.push(...unspread(this.history, this.all, alive));
    this.untold.push(...untold(this.history, this.#rows(), digestOf(this.all), alive));
  }

  #rows(): Row[] {
    return this.table.items().flatMap((item) => {
      const row = ROWS?.rowIn(item);
      const { pk, sk } = item;
      return row === undefined || pk === undefined || sk === undefined
        ? []
        : [{ ...row, by: row.owner, key: { pk, sk } }];
    });
  }

  /** An operator asks for a name. */
  #interrupt(name: string): void {
    interruptHolder(this.#operator.locks, `g/${name}`, { by: "operator" }).catch(() => undefined);
  }

  /** A row grants nothing, so that anybody may delete one. */
  #deleteRow(): void {
    const rows = this.#rows();
    if (rows.length > 0) this.table.deleteItem(this.one(rows).key);
  }

  #mishap(): void {
    const { random } = this;
    const running = this.alive.filter(({ machine }) => machine.isRunning);
    const one = running[random.integer(0, running.length - 1)];
    if (random.chance(0.2) && this.alive.length < MOST_PROCESSES) this.join();
    if (random.chance(0.2)) this.names = this.all.filter(() => random.chance(0.8));
    if (random.chance(0.2)) this.#interrupt(this.one(this.all));
    if (random.chance(0.1)) this.#deleteRow();
    if (one === undefined || random.chance(0.3)) return;
    this.mishaps += 1;
    const kind = random.fraction();
    if (kind < 0.35) one.pause(3 * 3 * PERIOD_MS * random.fraction());
    else if (kind < 0.55) one.machine.cutOff(3 * 3 * PERIOD_MS * random.fraction());
    else if (kind < 0.8) one.stop(random.chance(0.7));
    else one.kill();
    if (one.isGone && this.alive.length < PROCESSES) this.join();
  }
}

class Member {
  readonly machine: Machine;
  readonly #random: SeededRandom;
  readonly #run: Simulation;
  readonly #assignment: Assignment;
  isGone = false;

  constructor(run: Simulation, machine: Machine, random: SeededRandom) {
    this.machine = machine;
    this.#random = random;
    this.#run = run;
    this.#assignment = assign(machine.locks, "g", {
      names: () => this.#names(),
      run: (name, lease) => this.#body(name, lease),
      period: PERIOD_MS,
      stopTimeout: STOP_MS,
    });
    this.#assignment.onChange(({ kind, name, fence }) => {
      if (fence !== undefined && (kind === "moved" || kind === "revoked"))
        this.#note("freed", name, fence);
    });
    void this.#start();
  }

  #note(kind: "aborted" | "freed", name: string, fence: bigint): void {
    const atMs = this.machine.process.clock.monotonicMs();
    this.#run.history.push({ kind, name, by: this.machine.name, fence, atMs });
  }

  async #start(): Promise<void> {
    try {
      await this.#assignment.start();
    } catch {
      // A program whose start fails ends, and is started anew.
      if (this.isGone) return;
      this.#gone();
      if (this.#run.alive.length < PROCESSES) this.#run.join();
    }
  }

  pause(forMs: number): void {
    const first = orderOf(this.#random);
    this.machine.pause(forMs, () => first);
  }

  kill(): void {
    this.machine.process.kill();
    this.#gone();
  }

  /** Stops the assignment, or only closes the client. Runs go on until they have ended. */
  stop(isGraceful: boolean): void {
    this.isGone = true;
    const { locks } = this.machine;
    const stopped = isGraceful ? this.#assignment.stop() : locks.close();
    void stopped
      .catch(() => undefined)
      .then(() => {
        this.#gone();
        return locks.close();
      })
      .catch(() => undefined);
  }

  #gone(): void {
    this.isGone = true;
    this.#run.history.push({ kind: "gone", by: this.machine.name });
  }

  #names(): readonly string[] {
    if (!this.#run.isOver && this.#random.chance(0.05)) throw new Error("no names");
    return this.#run.names;
  }

  async #body(name: string, lease: Lease): Promise<void> {
    const random = this.#random;
    const of = { name, by: this.machine.name, fence: lease.fence } as const;
    const { history } = this.#run;
    history.push({ kind: "began", ...of });
    const { signal, fence } = lease;
    signal.addEventListener("abort", () => this.#note("aborted", name, fence));
    const isShort = !this.#run.isOver && random.chance(0.1);
    const untilMs = isShort ? this.#run.time.nowMs + 2_000 * random.fraction() : Infinity;
    while (!signal.aborted && this.#run.time.nowMs < untilMs) {
      history.push({ kind: "acted", ...of });
      await this.machine.sleep(1_000 * random.fraction());
    }
    // Some take longer to end than they have time. They do not act any more.
    await this.machine.sleep((random.chance(0.1) ? 8 : 0.3) * STOP_MS * random.fraction());
    history.push({ kind: "ended", ...of });
    if (!this.#run.isOver && random.chance(0.1)) throw new Error("failed");
  }
}

/**
 * Runs one seed: members that come, stop, pause, die and are cut off for ninety seconds of virtual time, with names that come
 * and go, and then settle. Operators ask for names, and rows are deleted, also after that. Checks that no two runs of a name act
 * at once, and that soon after the faults every name runs, evenly spread, and the rows tell so.
 */
export async function simulateAssign(seed: number): Promise<AssignOutcome> {
  const simulation = new Simulation(seed);
  await simulation.run();
  const { history, mishaps } = simulation;
  const early = freedEarly(history, STOP_MS);
  const of = (invariant: string, found: readonly string[]) =>
    found.map((what) => ({ invariant, what }));
  return {
    violations: [
      ...of("exclusion", overlapping(history, ["began", "ended", "aborted", "freed"])),
      ...of(
        "one run",
        beside(history).map((run) => `${run} began beside its former one`),
      ),
      ...of(
        "run over",
        early.map((run) => `${run} was not over when the name was given up`),
      ),
      ...of("spread", simulation.unspread),
      ...of("told", simulation.untold),
    ],
    runs: history.filter(({ kind }) => kind === "began").length,
    ...{ mishaps, members: simulation.alive.length },
  };
}
