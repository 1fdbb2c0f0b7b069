import { slot } from "../../packages/holdfast/src/assign/index.js";
import { coalesce, runOwed } from "../../packages/holdfast/src/coalesce/index.js";
import {
  type Election,
  type ElectionOptions,
  election,
  leaderTasks,
} from "../../packages/holdfast/src/election/index.js";
import {
  isHoldfastError,
  type Lease,
  type OnceOptions,
  once,
} from "../../packages/holdfast/src/index.js";
import { inMs } from "../../packages/holdfast/src/internal/duration.js";
import type { SeededRandom } from "../../packages/testing/src/time/seeded-random.js";
import { type CoalesceEvent, unfollowed } from "../sim/coalesce/checkers.js";
import type { Actor } from "./actor.js";
import { LEASE_MS, POLL } from "./choices.js";
import { act, begin, type Held, heldOf, noteActed, noteReleased, use } from "./holding.js";

const SLOTS = 2;
const LAST = 9;
const FAILED = new Error("the task failed");

/** What all processes of a program know of its tasks, and what no process may contradict. */
export class Tasks {
  readonly reruns: boolean;
  /** The occurrences whose work began, and those that a call was told to have been run. */
  readonly begun: number[] = [];
  readonly told: number[] = [];
  readonly terms = new Set<{ readonly held: Held; readonly self: Actor }>();
  /** The calls for runs of `coalesce`, and the runs. */
  readonly calls: CoalesceEvent[] = [];

  constructor(reruns: boolean) {
    this.reruns = reruns;
  }
}

/** What one process does beside locks: runs of `once` and `coalesce`, terms of a leader, numbers. */
export class TaskWork {
  readonly #self: Actor;
  readonly #tasks: Tasks;
  readonly #random: SeededRandom;
  readonly #codeOf: (error: unknown, more?: readonly string[]) => string;
  /** Uses a lock, for a while. */
  readonly #inside: () => Promise<void>;

  constructor(
    self: Actor,
    tasks: Tasks,
    random: SeededRandom,
    codeOf: (error: unknown, more?: readonly string[]) => string,
    inside: () => Promise<void>,
  ) {
    this.#self = self;
    this.#tasks = tasks;
    this.#random = random;
    this.#codeOf = codeOf;
    this.#inside = inside;
    void self.death.then(() => this.gone());
  }

  /** The process dies, or its client closes. */
  gone(): void {
    this.#tasks.calls.push({ kind: "gone", by: this.#self.name });
  }

  async any(): Promise<void> {
    switch (this.#random.integer(0, 7)) {
      case 0:
      case 1:
        await this.#once(this.#random.integer(1, 3));
        break;
      case 2:
        await this.#lead();
        break;
      case 3:
        await this.#leadTasks();
        break;
      case 4:
        await this.#askToResign();
        break;
      case 5:
      case 6:
        await this.#coalesce();
        break;
      default:
        await this.#number(this.#random.chance(0.5) ? 0 : 4_000);
    }
  }

  /** All others have ended: each task runs, once, and nothing is owed afterwards. */
  async last(): Promise<void> {
    const { calls, begun, told } = this.#tasks;
    // A holder that dies or is late may have named an occurrence in the record without a run.
    for (const number of this.#self.stage.isRough ? [] : told)
      if (!begun.some((one) => one >= number))
        this.#fail("run at least once", `${number} counts as run, and never began`);
    calls.push({ kind: "settled" });
    for (let left = 3; left > 0 && (await this.#owed()); left -= 1) await this.#self.sleep(100);
    for (const { by, call } of unfollowed(calls))
      this.#fail("run after a call", `no run followed call ${call} of ${by}`);
    await this.#once(LAST, true);
    if ((await this.#once(LAST)) !== "already") this.#fail("begun once", `${LAST} ran again`);
    await this.#lead(true);
    await this.#number(60_000);
  }

  async #once(number: number, isDue = false): Promise<string | undefined> {
    const { reruns, begun, told } = this.#tasks;
    const occurrence = String(number);
    const of = { kind: "occurrence", name: "once#o", occurrence, isRerun: reruns } as const;
    const isShort = isDue || this.#random.chance(0.7);
    const fails = !isDue && this.#random.chance(0.15);
    const options: OnceOptions = {
      ...{ occurrence, atMostFor: LEASE_MS },
      ifInterrupted: reruns ? "rerun" : "skip",
      atLeastFor: isShort ? 0 : inMs(this.#random.integer(500, 4_000)),
    };
    const { silence } = this.#self;
    if (isDue) this.#self.note({ ...of, what: "due" });
    let isWhole = false;
    const call = () =>
      once(this.#self.locks, "o", options, async (lease) => {
        silence.waits(false);
        this.#self.note({ ...of, what: "began" });
        begun.push(number);
        isWhole = await this.#work(lease);
        if (isWhole) this.#self.note({ ...of, what: "ended" });
        if (fails) throw FAILED;
      });
    try {
      const result = await (reruns ? silence.watch("waited for a run", {}, call) : call());
      if (result.ran) this.#self.note({ ...of, what: "completed" });
      else if (reruns && result.why === "running")
        this.#fail("run at least once", `a call for ${occurrence} did not wait for its run`);
      else if (result.why === "already") told.push(number);
      return result.ran ? "ran" : result.why;
    } catch (error) {
      if (error !== FAILED) return this.#codeOf(error, ["outcome-unknown"]);
      // An error is no interruption.
      if (isWhole && !this.#self.stage.hasFaults) this.#self.note({ ...of, what: "completed" });
      return "failed";
    }
  }

  /** Works with the lease of a run. Returns whether it was held to the end. */
  async #work(lease: Lease, isInBackground = false): Promise<boolean> {
    const held = heldOf(lease);
    begin(this.#self, held, false);
    await act(this.#self, held, this.#random.integer(0, 3_000));
    if (!isInBackground && this.#random.chance(0.2)) await this.#inside();
    this.#self.moment("ends");
    const isWhole = noteActed(this.#self, held);
    if (isWhole) noteReleased(this.#self, held);
    return isWhole;
  }

  async #coalesce(): Promise<void> {
    const { calls } = this.#tasks;
    const of = { name: "c", by: this.#self.name, call: calls.length + 1 };
    calls.push({ kind: "called", ...of });
    try {
      await coalesce(this.#self.locks, "c", { lease: LEASE_MS }, (lease) => this.#owedRun(lease));
      calls.push({ kind: "resolved", ...of });
    } catch (error) {
      this.#codeOf(error);
    }
  }

  /** Runs what is owed. Returns whether anything was. */
  async #owed(): Promise<boolean> {
    const run = (lease: Lease) => this.#owedRun(lease);
    return (await runOwed(this.#self.locks, "c", { lease: LEASE_MS }, run)).ran;
  }

  async #owedRun(lease: Lease): Promise<void> {
    const { calls } = this.#tasks;
    const of = { name: "c", by: this.#self.name, fence: lease.fence };
    calls.push({ kind: "began", ...of });
    if (await this.#work(lease, true)) calls.push({ kind: "ended", ...of });
  }

  /** Stands by for a while, and leads; a newcomer until it has led. */
  async #lead(isLast = false): Promise<void> {
    const random = this.#random;
    const { silence } = this.#self;
    const maxHoldMs = random.chance(0.2) ? random.integer(500, 4_000) : undefined;
    const candidate = this.#candidate({
      preferred: random.chance(0.3),
      ...(maxHoldMs !== undefined && { maxHold: inMs(maxHoldMs) }),
    });
    const abort = new AbortController();
    const { signal } = abort;
    const forMs = isLast ? 60_000 : random.integer(500, 12_000);
    const timer = this.#self.process.timers.set(forMs, true, () => abort.abort());
    const again = !isLast && random.chance(0.4);
    let terms = 0;
    const body = async (term: Lease) => {
      terms += 1;
      silence.waits(false);
      if (maxHoldMs !== undefined)
        this.#self.note({ kind: "limited", name: "leader#l", fence: term.fence, maxHoldMs });
      await this.#reign(term);
      silence.waits(true);
    };
    try {
      await silence.watch("stood by", { signal }, () => candidate.lead({ signal, again }, body));
    } catch (error) {
      this.#codeOf(error);
    }
    timer.cancel();
    if (isLast && terms === 0) this.#fail("no orphan", "a newcomer was not elected");
  }

  async #reign(term: Lease): Promise<void> {
    const held = heldOf(term);
    const reign = { held, self: this.#self };
    begin(this.#self, held, false);
    this.#tasks.terms.add(reign);
    for (let left = this.#random.integer(0, 16); left > 0 && !term.signal.aborted; left -= 1) {
      if (!noteActed(this.#self, held)) break;
      if (left === 7) await this.#inside();
      await this.#self.sleep(250);
    }
    noteActed(this.#self, held);
    this.#obeyed(held);
    if (held.isHeld) noteReleased(this.#self, held);
  }

  #obeyed({ lease, parts: [part] }: Held): void {
    const { reason } = lease.signal;
    if (part === undefined || !isHoldfastError(reason, "resigned")) return;
    const what = /asked to resign|preferred candidate/.exec(reason.message)?.[0];
    const { name, fence } = part;
    if (what !== undefined) this.#self.note({ kind: "obeyed", name, fence, what });
  }

  /** Runs a task on the leader for a while. No run begins or goes on without a term, and none after the end. */
  async #leadTasks(): Promise<void> {
    const terms = new Map<bigint, Held>();
    let running = 0;
    const run = async ({ term, signal }: { term: Lease; signal: AbortSignal }) => {
      running += 1;
      if (running > 1) this.#fail("one run at a time", "two runs of a task overlap");
      const held = terms.get(term.fence) ?? heldOf(term);
      if (!terms.has(term.fence)) begin(this.#self, held, false);
      terms.set(term.fence, held);
      this.#tasks.terms.add({ held, self: this.#self });
      for (let left = this.#random.integer(0, 5); left > 0 && !signal.aborted; left -= 1) {
        noteActed(this.#self, held);
        await this.#self.sleep(250);
      }
      running -= 1;
    };
    const tasks = leaderTasks(this.#self.locks, {
      ...{ name: "l", lease: LEASE_MS, poll: POLL.max },
      tasks: [{ name: "t", every: "1s", run }],
    });
    tasks.election.onTransition(({ kind, term }) => {
      const held = terms.get(term);
      if (kind !== "resigned" || held === undefined) return;
      this.#obeyed(held);
      noteReleased(this.#self, held);
    });
    tasks.start();
    await this.#self.sleep(this.#random.integer(500, 8_000));
    await tasks.stop();
    if (running > 0) this.#fail("one run at a time", "a run of a task goes on after the end");
  }

  async #askToResign(): Promise<void> {
    const led = [...this.#tasks.terms].filter(({ held }) => held.isHeld);
    const wait = this.#random.chance(0.3) ? 0 : inMs(this.#random.integer(500, 2 * LEASE_MS));
    try {
      if (!(await this.#candidate({}).requestResign({ wait }))) return;
    } catch (error) {
      this.#codeOf(error);
      return;
    }
    const still = led.find(({ held, self }) => self.process.state === "running" && held.isHeld);
    if (still !== undefined)
      this.#fail("resigned", `${still.self.name} leads on, though its term has ended`);
  }

  async #number(wait: number): Promise<void> {
    try {
      const got = await slot(this.#self.locks, "g", { of: SLOTS, wait, lease: LEASE_MS });
      if (got.name !== `g/${got.number}` || got.number >= SLOTS)
        this.#fail("numbers", `"${got.name}" has the number ${got.number}`);
      await use(this.#self, heldOf(got), false, this.#random.integer(0, 4_000));
    } catch (error) {
      this.#codeOf(error, ["not-acquired"]);
    }
  }

  #candidate(options: ElectionOptions): Election {
    return election(this.#self.locks, "l", { lease: LEASE_MS, poll: POLL.max, ...options });
  }

  #fail(invariant: string, what: string): void {
    this.#self.stage.fail(invariant, `${this.#self.name}: ${what}`);
  }
}
