import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { type FaultProxy, startFaultProxy } from "../../packages/testing/src/proxy/proxy.js";
import type { ProxyFault, SeenRequest } from "../../packages/testing/src/proxy/proxy-plan.js";
import type { SeededRandom } from "../../packages/testing/src/time/seeded-random.js";
import type { Happening } from "../sim/history.js";
import { type ClockManner, FakeClock, tidyAfter } from "./fake-clock.js";
import { REFEREE_FD, type WorkerSetup } from "./messages.js";
import { nameOf } from "./plan.js";
import type { Referee } from "./referee.js";
import { Witness } from "./witness.js";

/** What all members of a run share. */
export interface ClientEnvironment {
  readonly referee: Referee;
  readonly target: () => string;
  readonly workerFile: string;
  readonly directory: string;
  /** Undefined: the workers use this machine's clocks. */
  readonly faketime: string | undefined;
  readonly setup: Pick<WorkerSetup, "table" | "names" | "tasks" | "leaseMs" | "pollMs" | "permits">;
  readonly count: (fault: string, times?: number) => void;
  /** Takes the fault which waits for the next request of this operation, from any member. */
  readonly takeFault: (operation: string) => ProxyFault | undefined;
  readonly freshPort: () => Promise<number>;
}

/** One place in a run: a worker, its successor after each kill, and their faulty network to the table. */
export class Member {
  name = "";
  readonly #place: number;
  /**
   * Draws the settings of workers. The network has a separate generator, because the number of its draws depends on
   * timing.
   */
  readonly #random: SeededRandom;
  readonly #network: SeededRandom;
  readonly #around: ClientEnvironment;
  readonly #witness: Witness;
  readonly #port: number;
  #proxy: FaultProxy | undefined;
  #child: ChildProcess | undefined;
  #ready: Promise<void> = Promise.resolve();
  #isReady = false;
  #clock: FakeClock | undefined;
  #isStopped = false;
  #lives = 0;
  #calm = false;
  #stall: { readonly what: "request-lost" | "response-lost"; readonly untilMs: number } | undefined;
  #slow: { readonly delayMs: number; readonly untilMs: number } | undefined;

  private constructor(
    place: number,
    random: SeededRandom,
    around: ClientEnvironment,
    ports: { readonly witness: number; readonly proxy: number },
  ) {
    const { referee, target, count } = around;
    this.#place = place;
    this.#random = random;
    this.#network = random.fork();
    this.#around = around;
    this.#port = ports.proxy;
    this.#witness = new Witness({
      port: ports.witness,
      target,
      referee,
      by: () => this.name,
      onSilence: (why) => count(`no answer (${why})`),
    });
  }

  static async open(
    place: number,
    random: SeededRandom,
    around: ClientEnvironment,
  ): Promise<Member> {
    const ports = { witness: await around.freshPort(), proxy: await around.freshPort() };
    const member = new Member(place, random, around, ports);
    await member.#witness.start();
    await member.#openProxy();
    return member;
  }

  get requests(): number {
    return this.#witness.requests;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#isReady && !this.#isStopped;
  }

  get isHolder(): boolean {
    return this.#around.referee.isHolder(this.name);
  }

  /** Whether the worker runs and can reach the proxy. */
  get isConnected(): boolean {
    return this.isRunning && this.#proxy !== undefined;
  }

  get canStepClock(): boolean {
    return this.isRunning && this.#clock?.manner.kind === "stepped";
  }

  get #keptAliveBy(): WorkerSetup["keptAliveBy"] {
    const asked = LIVES[this.#place % LIVES.length] ?? "leases";
    // A permit always lives by a session: of its client by default.
    const hasPermits = this.#around.setup.permits !== undefined;
    return hasPermits && asked === "sessions" ? "leases" : asked;
  }

  /** Starts a worker, with separate clocks. */
  start(): void {
    const { referee, setup, workerFile } = this.#around;
    this.#lives += 1;
    const name = `p${this.#place + 1}.${this.#lives}`;
    this.name = name;
    this.#clock = this.#newClock();
    const task: WorkerSetup = {
      ...setup,
      name,
      endpoint: `http://127.0.0.1:${this.#port}`,
      seed: this.#random.integer(0, 2 ** 31),
      keptAliveBy: this.#keptAliveBy,
    };
    const child = spawn(process.execPath, [workerFile, JSON.stringify(task)], {
      stdio: ["ignore", "ignore", "pipe", "pipe"],
      env: {
        PATH: process.env["PATH"],
        AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
        ...this.#clock?.environment,
      },
    });
    this.#child = child;
    referee.note(name, { kind: "process", what: "started" });
    this.#isReady = false;
    this.#ready = referee.listenTo(name, child.stdio[REFEREE_FD] as Duplex).then(() => {
      this.#isReady = this.#child === child;
    });
    let errors = "";
    child.stderr?.on("data", (chunk) => {
      errors += chunk;
    });
    child.once("close", (code, signal) => {
      if (child.pid !== undefined) tidyAfter(child.pid);
      if (this.#child === child) this.#child = undefined;
      if (signal === "SIGKILL" || (code === 0 && errors === "")) return;
      referee.fail(`${name} ended with ${code ?? signal}: ${errors}`);
    });
  }

  kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return Promise.resolve();
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    child.kill("SIGKILL");
    this.#child = undefined;
    this.#isStopped = false;
    this.#around.referee.note(this.name, { kind: "process", what: "killed" });
    return closed;
  }

  /** Kills the worker at the end of the whole program, without waiting. */
  killAtExit(): void {
    const pid = this.#child?.pid;
    this.#child?.kill("SIGKILL");
    if (pid !== undefined) tidyAfter(pid);
  }

  stop(): void {
    this.#signal("SIGSTOP", "hindered");
    this.#isStopped = true;
  }

  goOn(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    this.#signal("SIGCONT", "free again");
  }

  #signal(signal: NodeJS.Signals, what: Happening): void {
    this.#child?.kill(signal);
    this.#around.referee.note(this.name, { kind: "process", what });
  }

  stepClock(byMs: number): void {
    this.#clock?.step(byMs);
    this.#around.referee.note(this.name, {
      kind: "process",
      what: `note: wall clock stepped by ${byMs} ms`,
    });
  }

  cut(): void {
    this.#proxy?.partition();
  }

  heal(delivers: boolean): void {
    const hung = this.#proxy?.injected("partition") ?? 0;
    if (hung > 0) this.#around.count("request in a cut", hung);
    this.#proxy?.heal({ delivers });
    // The list of requests would grow without end.
    this.#proxy?.forgetRequests();
  }

  stall(what: "request-lost" | "response-lost", forMs: number): void {
    this.#stall = { what, untilMs: performance.now() + forMs };
  }

  slow(delayMs: number, forMs: number): void {
    this.#slow = { delayMs, untilMs: performance.now() + forMs };
  }

  /** Refuses the worker's connections until the promise of `until` resolves. */
  async refuse(until: Promise<void>): Promise<void> {
    const proxy = this.#proxy;
    this.#proxy = undefined;
    await proxy?.close();
    await until;
    await this.#openProxy();
  }

  /** Injects no further faults; a paused worker continues. */
  calm(): void {
    this.#calm = true;
    this.goOn();
    this.#proxy?.heal();
  }

  /** Asks the worker to finish; resolves to whether the worker finished within the time. */
  async finish(limitMs: number): Promise<boolean> {
    const child = this.#child;
    if (child === undefined) return true;
    const closed = new Promise<true>((resolve) => child.once("close", () => resolve(true)));
    // Before being ready, the worker would die of the signal.
    void this.#ready.then(() => child.kill("SIGTERM"));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), limitMs);
    });
    const isClosed = await Promise.race([closed, late]);
    clearTimeout(timer);
    return isClosed;
  }

  async close(): Promise<void> {
    await this.kill();
    await this.#proxy?.close();
    await this.#witness.close();
  }

  async #openProxy(): Promise<void> {
    const proxy = await startFaultProxy({ target: this.#witness.endpoint, port: this.#port });
    proxy.script((request) => this.#faultFor(request));
    this.#proxy = proxy;
  }

  #faultFor(request: SeenRequest): ProxyFault | undefined {
    if (this.#calm) return undefined;
    const nowMs = performance.now();
    const planned = this.#around.takeFault(request.operation);
    if (planned !== undefined) {
      this.#around.count(nameOf(request.operation, planned));
      return planned;
    }
    if (this.#stall !== undefined && nowMs < this.#stall.untilMs) {
      this.#around.count("request in a stall");
      return { fault: this.#stall.what, how: "hang" };
    }
    if (this.#slow !== undefined && nowMs < this.#slow.untilMs) {
      const delayMs = this.#network.fraction() * this.#slow.delayMs;
      return { fault: "delayed", delayMs };
    }
    return undefined;
  }

  #newClock(): FakeClock | undefined {
    const { faketime, directory, count } = this.#around;
    if (faketime === undefined) return undefined;
    const manner = clockManner(this.#random, this.#place);
    count(manner.kind === "drifting" ? "clock drifting" : "wall clock skewed");
    return new FakeClock(faketime, join(directory, `${this.name}.clock`), manner);
  }
}

/** By place: workers with sessions alternate with workers without. */
const LIVES = ["leases", "sessions", "leases", "shared"] as const;

const SKEWS_MS = [0, 700, 30_000, 3_000_000, 10_000_000];

/**
 * Every third place drifts, at either end of the bound; the rest have a wrong wall clock, which is stepped.
 */
function clockManner(random: SeededRandom, place: number): ClockManner {
  if (place % 3 === 2) return { kind: "drifting", rate: random.chance(0.7) ? 1.01 : 0.99 };
  const most = SKEWS_MS[random.integer(0, SKEWS_MS.length - 1)] ?? 0;
  return { kind: "stepped", skewMs: Math.round(most * (2 * random.fraction() - 1)) };
}
