import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import type { ProxyFault } from "../../packages/testing/src/proxy/proxy-plan.js";
import type { Violation } from "../sim/history.js";
import { checkRun, type Ledger } from "./checks.js";
import { Member } from "./member.js";
import { inOrder } from "./order.js";
import { checkPermits, PERMITS, takeoversIn } from "./permit-checks.js";
import { type Due, type Mishap, MOST_TIMES, type Plan, planOf } from "./plan.js";
import { Referee } from "./referee.js";
import { freshPort, Server, type StartServer } from "./server.js";
import { deleteSession } from "./session-row.js";
import { settle } from "./settle.js";
import { figuresOf, missingIn, planOptionsOf, type RunOptions, type Summary } from "./summary.js";

/** What a run needs from outside the bundle. */
export interface Tools {
  readonly startServer: StartServer;
  /** The bundled `worker.ts`. */
  readonly workerFile: string;
  readonly faketime: string | undefined;
}

const VICTIM_WAIT_MS = 5_000;
const FIRST_CHECK_MS = 5_000;
const PROGRESS_EVERY_MS = 10_000;
// The default of `maxClockError`.
const MAX_CLOCK_ERROR_MS = 10_000;
// The requests of a takeover: a read, the end of the session, the removal, and one more. Each may fail once in silence.
const TAKEOVER_REQUESTS_MS = 4 * 800;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A table, members which contend for locks, and a plan of faults. */
export class Run {
  readonly referee = new Referee();
  /** Read from the table at the end; undefined after an interruption. */
  ledgers: readonly Ledger[] | undefined;
  readonly #options: RunOptions;
  readonly #tools: Tools;
  readonly #plan: Plan;
  readonly #progress: (line: string) => void;
  readonly #table = `locks-${process.pid}-${Date.now()}`;
  readonly #faults: Record<string, number> = {};
  readonly #members: Member[] = [];
  readonly #waiting: { readonly operation: string; readonly fault: ProxyFault }[] = [];
  readonly #underWay = new Set<Promise<void>>();
  readonly #violations: Violation[] = [];
  // In memory where the system supports this: the server writes every item to disk at once.
  readonly #directory = mkdtempSync(
    join(process.platform === "linux" ? "/dev/shm" : tmpdir(), "holdfast-chaos-"),
  );
  #server: Server | undefined;
  #nextLookMs = 0;
  #isInterrupted = false;

  constructor(options: RunOptions, tools: Tools, progress: (line: string) => void) {
    this.#options = options;
    this.#tools = tools;
    this.#plan = planOf(planOptionsOf(options));
    this.#progress = progress;
  }

  get isInterrupted(): boolean {
    return this.#isInterrupted;
  }

  /** Ends the run as soon as possible. */
  interrupt(): void {
    this.#isInterrupted = true;
    // The terminal sends the signal to the workers, too.
    this.referee.close();
  }

  /** Leaves no process and no file behind at the end of the program. */
  killAtExit(): void {
    for (const member of this.#members) member.killAtExit();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Runs the plan, and cleans up in every case. */
  async run(): Promise<Summary> {
    try {
      await this.#open();
      const startMs = this.referee.nowMs;
      for (const member of this.#members) member.start();
      await this.#goWrong(startMs);
      const seconds = Math.round((this.referee.nowMs - startMs) / 1000);
      // Waits for restarts and ends of pauses: the remaining work can only finish.
      while (this.#underWay.size > 0) await Promise.all(this.#underWay);
      if (!this.#isInterrupted) this.ledgers = await this.#settle();
      return this.#summary(seconds);
    } finally {
      await Promise.allSettled(this.#members.map((member) => member.close()));
      await this.#server?.kill();
      rmSync(this.#directory, { recursive: true, force: true });
    }
  }

  get #permits(): number | undefined {
    return this.#options.hasPermits ? PERMITS : undefined;
  }

  get #endpoint(): string {
    return this.#options.endpoint ?? this.#server?.endpoint ?? "";
  }

  #client(): DynamoDBClient {
    const credentials = { accessKeyId: "local", secretAccessKey: "local" };
    return new DynamoDBClient({ endpoint: this.#endpoint, region: "local", credentials });
  }

  async #open(): Promise<void> {
    if (this.#options.endpoint === undefined) {
      const { startServer } = this.#tools;
      this.#server = await Server.open(startServer, await freshPort(), this.#directory);
    }
    const client = this.#client();
    await createTable({ client, table: this.#table });
    client.destroy();
    const { names, leaseMs, pollMs, tasks, randoms } = this.#plan;
    const around = {
      referee: this.referee,
      target: () => this.#endpoint,
      workerFile: this.#tools.workerFile,
      directory: this.#directory,
      faketime: this.#options.hasClocks ? this.#tools.faketime : undefined,
      setup: { table: this.#table, names, tasks, leaseMs, pollMs, permits: this.#permits },
      count: (fault: string, times = 1) => this.#count(fault, times),
      takeFault: (operation: string) => this.#takeFault(operation),
      freshPort,
    };
    for (const [place, random] of randoms.entries()) {
      this.#members.push(await Member.open(place, random, around));
    }
  }

  async #goWrong(startMs: number): Promise<void> {
    const untilMs = startMs + this.#options.minutes * 60_000;
    const due = [...this.#plan.mishaps];
    let [checkMs, progressMs] = [startMs + FIRST_CHECK_MS, startMs + PROGRESS_EVERY_MS];
    while (this.#goesOn(untilMs, startMs) && !this.#isInterrupted) {
      await pause(10);
      const elapsedMs = this.referee.nowMs - startMs;
      for (; due[0] !== undefined && due[0].atMs <= elapsedMs; due.shift()) this.#begin(due[0]);
      if (this.referee.nowMs > checkMs) {
        if (this.#isBad()) return;
        // Each check reads the whole history, so checks become rarer with its length.
        checkMs += Math.max(FIRST_CHECK_MS, elapsedMs);
      }
      if (this.referee.nowMs > progressMs) {
        this.#tellProgress(elapsedMs);
        progressMs += PROGRESS_EVERY_MS;
      }
    }
  }

  // On a busy machine fewer events happen in the same time.
  #goesOn(untilMs: number, startMs: number): boolean {
    const { nowMs } = this.referee;
    if (nowMs < untilMs) return true;
    if (nowMs > startMs + MOST_TIMES * (untilMs - startMs)) return false;
    return nowMs < this.#nextLookMs || this.#lacksSomething();
  }

  #lacksSomething(): boolean {
    this.#nextLookMs = this.referee.nowMs + 1_000;
    return missingIn(this.#summary(0), planOptionsOf(this.#options)).length > 0;
  }

  #isBad(): boolean {
    return this.referee.failures.length > 0 || this.#check([]).length > 0;
  }

  #check(ledgers: readonly Ledger[]): Violation[] {
    const { spans, sightings } = this.referee;
    if (!this.#options.hasPermits) return checkRun(spans, ledgers);
    return checkPermits({ spans, sightings, ledgers, takeoverMs: this.#takeoverMs });
  }

  get #takeoverMs(): number {
    const { leaseMs, pollMs } = this.#plan;
    return leaseMs[1] + MAX_CLOCK_ERROR_MS + pollMs.max + TAKEOVER_REQUESTS_MS;
  }

  /** After this fault, how long a process may keep a place in a queue without using its turn. */
  #hinderedMs(mishap: Mishap): number {
    // The place of a killed process must be gone as soon as its permits.
    if (mishap.kind === "process killed") return this.#takeoverMs;
    if (mishap.kind === "wall clock stepped") return mishap.thenCutMs;
    return "forMs" in mishap ? mishap.forMs : 0;
  }

  #tellProgress(elapsedMs: number): void {
    const grants = this.referee.spans.filter(({ event }) => event.kind === "granted").length;
    const faults = Object.values(this.#faults).reduce((sum, times) => sum + times, 0);
    const seconds = Math.round(elapsedMs / 1000);
    this.#progress(
      `${seconds} of ${Math.round(this.#options.minutes * 60)} s: ${grants} grants, ${faults} faults`,
    );
  }

  #count(fault: string, times: number): void {
    this.#faults[fault] = (this.#faults[fault] ?? 0) + times;
  }

  #begin(due: Due): void {
    const work = this.#carryOut(due).catch((error: unknown) => {
      this.referee.fail(`${due.mishap.kind}: ${error instanceof Error ? error.stack : error}`);
    });
    this.#underWay.add(work);
    void work.then(() => this.#underWay.delete(work));
  }

  #noteServer(what: string): void {
    this.referee.note("server", { kind: "process", what: `note: ${what}` });
  }

  #takeFault(operation: string): ProxyFault | undefined {
    const index = this.#waiting.findIndex((fault) => fault.operation === operation);
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0]?.fault;
  }

  /** Returns the first suitable member from this place on; preferably a holder. */
  async #victim(place: number, isFit: (member: Member) => boolean): Promise<Member | undefined> {
    const all = [...this.#members.slice(place), ...this.#members.slice(0, place)];
    // All members may be down for a moment.
    for (let waitedMs = 0; waitedMs < VICTIM_WAIT_MS; waitedMs += 50) {
      const fit = all.filter(isFit);
      if (fit.length > 0) return fit.find(({ isHolder }) => isHolder) ?? fit[0];
      await pause(50);
    }
    return undefined;
  }

  async #carryOut({ mishap, place }: Due): Promise<void> {
    const { kind } = mishap;
    if (kind === "server killed") {
      if (this.#server?.isRunning !== true) return;
      this.#count(kind, 1);
      this.#noteServer("killed");
      await this.#server.kill();
      await pause(mishap.downMs);
      await this.#server.begin();
      return this.#noteServer("started");
    }
    if (kind === "session deleted") {
      const session = await deleteSession(this.#client(), this.#table, this.#plan.names);
      if (session === undefined) return;
      this.#count(kind, 1);
      return this.#noteServer(`record of session ${session} deleted`);
    }
    // Counted when a request has the fault.
    if (kind === "request") {
      this.#waiting.push(mishap);
      return;
    }
    const victim = await this.#victim(place, (member) =>
      kind === "wall clock stepped" ? member.canStepClock : member.isConnected,
    );
    if (victim === undefined) return;
    this.#count(kind, 1);
    if (this.#options.hasPermits) this.referee.noteHindered(victim.name, this.#hinderedMs(mishap));
    switch (kind) {
      case "process killed":
        await victim.kill();
        await pause(mishap.downMs);
        return victim.start();
      case "process stopped":
        victim.stop();
        await pause(mishap.forMs);
        return victim.goOn();
      case "wall clock stepped":
        victim.stepClock(mishap.byMs);
        return mishap.thenCutMs > 0 ? this.#cut(victim, mishap.thenCutMs, false) : undefined;
      case "network cut":
        return this.#cut(victim, mishap.forMs, mishap.delivers);
      case "requests stalled":
        return victim.stall("request-lost", mishap.forMs);
      case "answers stalled":
        return victim.stall("response-lost", mishap.forMs);
      case "network slow":
        return victim.slow(mishap.delayMs, mishap.forMs);
      case "connections refused":
        return victim.refuse(pause(mishap.forMs));
    }
  }

  async #cut(victim: Member, forMs: number, delivers: boolean): Promise<void> {
    victim.cut();
    await pause(forMs);
    victim.heal(delivers);
  }

  async #settle(): Promise<Ledger[]> {
    const client = this.#client();
    const { names } = this.#plan;
    const violate = (invariant: string, what: string): void => {
      this.#violations.push({ invariant, atMs: this.referee.nowMs, what });
    };
    const found = await settle({
      members: this.#members,
      client,
      table: this.#table,
      names,
      permits: this.#permits,
      violate,
    });
    client.destroy();
    return found;
  }

  #summary(seconds: number): Summary {
    const { seed, processes } = this.#options;
    const { spans, sightings, failures, askedTooLate } = this.referee;
    const takeovers = takeoversIn(spans, sightings);
    const unexpected = failures.map((failure) => ({ invariant: "unexpected", ...failure }));
    return {
      seed,
      processes,
      seconds,
      requests: this.#members.reduce((sum, { requests }) => sum + requests, 0),
      heldBack: askedTooLate,
      ...figuresOf(inOrder(spans)),
      faults: this.#faults,
      takeovers: this.#options.hasPermits
        ? {
            permits: takeovers.length,
            worstMs: Math.max(0, ...takeovers.map(({ afterMs }) => afterMs)),
            worstCountedMs: Math.max(0, ...takeovers.map(({ countedMs }) => countedMs)),
          }
        : undefined,
      violations: [...this.#violations, ...unexpected, ...this.#check(this.ledgers ?? [])],
      historyFile: undefined,
    };
  }
}
