import { Holdfast, isHoldfastError, sharedSession } from "../../packages/holdfast/src/index.js";
import type { FaultRequest } from "../../packages/testing/src/faults/fault-plan.js";
import { FaultyTable } from "../../packages/testing/src/faults/faults.js";
import type { TamperableTable } from "../../packages/testing/src/table/memory-table.js";
import { seededRandom } from "../../packages/testing/src/time/seeded-random.js";
import type { VirtualProcess } from "../../packages/testing/src/time/virtual-process.js";
import type { VirtualTime } from "../../packages/testing/src/time/virtual-time.js";
import type { Event } from "../sim/history.js";
import { observed } from "../sim/observed.js";
import { paced } from "../sim/pacing.js";
import type { Protocol } from "../sim/protocol/protocol.js";
import type { Believed } from "../sim/records.js";
import { Witness } from "../sim/witness.js";
import { Silence } from "../sim/world/silence.js";
import {
  LATENCY_MS,
  LEASE_MS,
  MAX_CLOCK_DRIFT,
  MAX_CLOCK_ERROR_MS,
  type ProcessChoice,
  REQUEST_TIMEOUT_MS,
  type RequestChoice,
  STOPPED_MS,
  type UNREADABLE,
} from "./choices.js";
import type { Trace } from "./trace.js";

type NoteOf = Event extends infer E ? (E extends Event ? Omit<E, "by"> : never) : never;

/** What a process needs from its run. */
export interface Stage {
  readonly time: VirtualTime;
  readonly trace: Trace;
  readonly protocol: Protocol;
  /** Errors which no caller waited for. */
  readonly reported: Error[];
  /** Whether a fault of the placement may end a lease or, with others, a call. */
  readonly isRough: boolean;
  readonly hasFaults: boolean;
  portOf(writer: string): TamperableTable;
  note(event: Event): void;
  fail(invariant: string, what: string): void;
  handedOut(self: Actor, lease: Believed): void;
  /** The fault that the placement has for a request, if any. */
  faultOf(self: Actor, request: FaultRequest): RequestChoice | typeof UNREADABLE | undefined;
  /** What the placement lets happen to a process at this moment, if anything. */
  happeningOf(
    self: Actor,
    point: string,
    at: readonly (ProcessChoice["only"] & string)[],
  ): ProcessChoice | undefined;
  /** Starts a third process. */
  startThird(): void;
  makeUnreadable(request: FaultRequest): void;
}

/** A process of a run: its clocks, its network and its client. */
export class Actor {
  readonly stage: Stage;
  readonly name: string;
  readonly process: VirtualProcess;
  readonly network: FaultyTable;
  readonly locks: Holdfast;
  readonly silence: Silence;
  /** How many requests the process has sent. */
  sent = 0;
  isDead = false;
  /** Whether its work closes the client. */
  closes = false;
  /** Whether its work has begun to end a session, and so the leases on it. */
  endsLeases = false;
  /** Settles when the process dies. */
  readonly death: Promise<void>;
  readonly #moments = new Map<string, number>();
  /** The holders whose lease the process released while it held it. */
  readonly #released = new Set<string>();
  #die = (): void => undefined;

  constructor(stage: Stage, name: string, { onSession }: { readonly onSession: boolean }) {
    const { time, trace } = stage;
    this.stage = stage;
    this.name = name;
    this.death = new Promise((resolve) => {
      this.#die = resolve;
    });
    this.process = time.process();
    const latency = { requestMs: LATENCY_MS, responseMs: LATENCY_MS };
    this.network = new FaultyTable(stage.portOf(name), this.process, { latency: () => latency });
    this.network.script((request) => this.#faultOf(request));
    this.silence = new Silence({
      ...{ name, clock: this.process.clock, timers: this.process.timers },
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      fail: (what) => stage.fail("no silence", what),
    });
    const traced = observed(this.network, {
      sent: () => undefined,
      answered: ({ kind, answer }) => trace.add(`${name} ${kind}`, answer),
    });
    const judged = observed(traced, stage.protocol.observerOf(name));
    const witness = new Witness(judged, this.#listener(), false);
    const tooOften = (what: string): void => stage.fail("paced", `${name} ${what}`);
    this.locks = new Holdfast({
      client: this.silence.port(paced(witness, () => time.nowMs, tooOften)),
      table: "locks",
      owner: name,
      lease: LEASE_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      maxClockDrift: MAX_CLOCK_DRIFT,
      maxClockError: MAX_CLOCK_ERROR_MS,
      ...(onSession ? { sharedSession: sharedSession() } : {}),
      onError: (error) => {
        this.silence.told(error);
        // A run in the background, of `coalesce`, has no caller to tell of its loss, or of a grant without an answer.
        const isOfRun = error.lockName === "c" && ["lost", "unreachable"].includes(error.code);
        // A wait for a number tells of two rounds without an answer.
        const isOfSlot = error.lockName?.startsWith("g/") === true && error.code === "unreachable";
        const mayBe = stage.hasFaults && (isOfRun || isOfSlot);
        if (!mayBe && !error.message.includes("`Date`")) stage.reported.push(error);
      },
      environment: {
        clock: this.process.clock,
        timers: this.process.timers,
        random: seededRandom(name.charCodeAt(0)),
      },
    });
  }

  note(event: NoteOf): void {
    if (event.kind === "released" && event.holder !== undefined) this.#released.add(event.holder);
    this.stage.note({ ...event, by: this.name } as Event);
  }

  sleep(forMs: number): Promise<void> {
    return new Promise((resolve) => this.process.timers.set(forMs, true, resolve));
  }

  /** A moment of the work at which something may happen to the process. */
  moment(what: string): void {
    const times = (this.#moments.get(what) ?? 0) + 1;
    this.#moments.set(what, times);
    const point = `${this.name}.${what}${times === 1 ? "" : times}`;
    const isHolding = what !== "asks";
    this.#happen(
      this.stage.happeningOf(this, point, isHolding ? ["moment", "holding"] : ["moment"]),
    );
  }

  /** Expects one of these codes, and rejects with every other error. Returns the code. */
  codeOf(error: unknown, expected: readonly string[]): string {
    if (isHoldfastError(error) && expected.includes(error.code)) return error.code;
    throw error;
  }

  #faultOf(request: FaultRequest) {
    this.sent += 1;
    const { stage } = this;
    const point = `${this.name}${this.sent}`;
    this.#happen(stage.happeningOf(this, point, this.sent === 1 ? ["first"] : []));
    const choice = stage.faultOf(this, request);
    if (choice === undefined) return undefined;
    if ("fault" in choice) return choice.fault;
    stage.makeUnreadable(request);
    return undefined;
  }

  #happen(choice: ProcessChoice | undefined): void {
    if (choice === undefined) return;
    this.stage.trace.add(this.name, choice.name);
    if (choice.happens === "third") this.stage.startThird();
    else if (choice.happens === "clock") choice.clock?.(this.process);
    // Between two events, as everything that happens to a process.
    else this.process.network.set(0, true, () => this.#stop(choice.happens));
  }

  #stop(how: ProcessChoice["happens"]): void {
    const { process } = this;
    if (process.state !== "running") return;
    if (how === "die") {
      process.kill();
      this.isDead = true;
      this.note({ kind: "process", what: "killed" });
      this.#die();
      return;
    }
    if (how !== "pause" && how !== "stop" && how !== "suspend") return;
    this.note({ kind: "process", what: "hindered" });
    process.pause({ frozen: how === "suspend" ? "monotonic" : "none" });
    process.network.set(STOPPED_MS[how], true, () => {
      process.resume({ first: how === "suspend" ? "io" : "timers" });
      this.note({ kind: "process", what: "free again" });
    });
  }

  #listener() {
    const { time, fail } = this.stage;
    return {
      get trueNowMs(): number {
        return time.nowMs;
      },
      note: (event: NoteOf) => this.note(event),
      sent: () => undefined,
      releasedAgain: (name: string, holder = "") => {
        // The release of a lost lease helps waiters.
        if (this.#released.has(holder))
          fail("request budget", `${this.name} released "${name}" again after the answer`);
      },
    };
  }
}
