import { AsyncLocalStorage } from "node:async_hooks";
import type { HoldfastError } from "../../../packages/holdfast/src/index.js";
import type { Clock } from "../../../packages/holdfast/src/platform/clock.js";
import type { TablePort, Write } from "../../../packages/holdfast/src/platform/table.js";
import type { Timers } from "../../../packages/holdfast/src/platform/timers.js";
import { around, type Sent } from "../observed.js";

// The library promises two request timeouts after the first failure, at least this.
const LEAST_MS = 2_000;
// Answers and timers of one instant come in any order, and rates of clocks change between two timers.
const SLACK_MS = 100;
const AT_ONCE_MS = 5;
// Before the first answer, and after "never".
const BEGINNING_MS = 0;

/** Why a request of a waiting call had no result. */
type Trouble = "unknown" | "throttled" | "denied";

/** Requests in a row of a waiting call that had no result, all for the same reason. */
interface Run {
  readonly trouble: Trouble;
  /** When the first of them failed; the first after the last answer to any call. By the clock of the process. */
  sinceMs: number;
  failures: number;
  /** The operation of the last of them. */
  operation: string;
  /** When the table had served this operation, for any call, before the last of them. */
  servedOfMs: number;
}

/** The time of a waiting call since its last request with a result. */
interface Unserved {
  /** When the table had served the last request of any call. */
  readonly servedMs: number;
  /** The operations that were refused. */
  readonly denied: Set<string>;
  run: Run | undefined;
}

/** A call that waits. */
interface Waiter {
  readonly what: string;
  isWaiting: boolean;
  unserved: Unserved | undefined;
  /** By the kind of request: those that the table served for no call since the first of them failed. */
  readonly failed: Map<string, { readonly sinceMs: number; count: number; isFound: boolean }>;
}

/** What a process needs for its silence to be watched. */
interface Watched {
  readonly name: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly requestTimeoutMs: number;
  fail(what: string): void;
}

/**
 * Expects that a call that waits is not left in silence: `onError` receives an outage within two request timeouts of the
 * first failure that the call saw, an outage of reads or of writes alone with its third failure, at the earliest after as
 * long, and a refusal of the credentials at once; each once, until the table serves the process again, and ever more rarely
 * if outages follow each other. Reads the clock and the timers of the process, which a pause stops.
 */
export class Silence {
  readonly #watched: Watched;
  readonly #waiters = new AsyncLocalStorage<Waiter>();
  #answeredMs = BEGINNING_MS;
  #servedMs = BEGINNING_MS;
  readonly #servedOfMs = new Map<string, number>();
  readonly #servedOfKindMs = new Map<string, number>();
  readonly #waiting = new Set<Waiter>();
  #toldMs = Number.NEGATIVE_INFINITY;
  /** How long after the last word the next may come: words that follow each other become rare. */
  #pauseMs = 0;
  #toldDeniedMs = Number.NEGATIVE_INFINITY;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  /** Watches a call until it settles, or its signal aborts, or its wait is over. Returns the very promise of the call. */
  watch<T>(
    what: string,
    { wait, signal }: { readonly wait?: number; readonly signal?: AbortSignal },
    call: () => Promise<T>,
  ): Promise<T> {
    const waiter: Waiter = { what, isWaiting: wait !== 0, unserved: undefined, failed: new Map() };
    this.#waiting.add(waiter);
    const end = (): void => {
      waiter.isWaiting = false;
      this.#waiting.delete(waiter);
    };
    signal?.addEventListener("abort", end, { once: true });
    const timer = wait === undefined ? undefined : this.#watched.timers.set(wait, true, end);
    const settled = (): void => {
      end();
      timer?.cancel();
    };
    const called = this.#waiters.run(waiter, call);
    called.then(settled, settled);
    return called;
  }

  /** The running call does not wait any more, or waits again. */
  waits(isWaiting: boolean): void {
    const waiter = this.#waiters.getStore();
    if (waiter === undefined) return;
    waiter.isWaiting = isWaiting;
    if (isWaiting) this.#waiting.add(waiter);
    waiter.unserved = undefined;
    waiter.failed.clear();
  }

  /** `onError` received an error. */
  told({ code, lockName }: HoldfastError): void {
    if (lockName !== undefined) return;
    if (["unreachable", "throttled", "access-denied"].includes(code)) {
      const isSoon = this.#nowMs - this.#toldMs <= 3 * this.#pauseMs;
      this.#pauseMs = isSoon ? 2 * this.#pauseMs : this.#boundMs;
      this.#toldMs = this.#nowMs;
    }
    if (code === "access-denied") this.#toldDeniedMs = this.#nowMs;
  }

  /** Wraps the table of the process. */
  port(table: TablePort): TablePort {
    return around(table, (request, send, { signal }) => {
      const operation = operationOf(request);
      const waiter = isOfWait(request) ? this.#waiters.getStore() : undefined;
      const answering = send();
      const see = ({ kind }: { readonly kind: string }): void => {
        if (signal?.aborted === true && kind === "unknown") return;
        this.#answered(operation, kind, waiter);
        this.#ofOneKind(request.kind, kind, waiter);
      };
      answering.then(see, () => undefined);
      return answering;
    });
  }

  #answered(operation: string, kind: string, waiter: Waiter | undefined): void {
    if (kind !== "unknown") this.#answeredMs = this.#nowMs;
    const trouble = troubleIn(kind);
    if (trouble === undefined) {
      // Another write in progress: the table is well, but has not served this request.
      if (kind === "conflict") {
        if (waiter?.unserved !== undefined) waiter.unserved.run = undefined;
        return;
      }
      if (waiter !== undefined) waiter.unserved = undefined;
      this.#servedMs = this.#nowMs;
      this.#servedOfMs.set(operation, this.#nowMs);
    } else if (waiter?.isWaiting === true) this.#failed(operation, trouble, waiter);
  }

  /** Expects to be told of requests of one kind that fail for long, whatever the table serves of others. */
  #ofOneKind(of: string, answer: string, waiter: Waiter | undefined): void {
    const trouble = troubleIn(answer);
    if (trouble === undefined) {
      for (const each of this.#waiting) each.failed.delete(of);
      this.#servedOfKindMs.set(of, this.#nowMs);
    } else if (waiter?.isWaiting === true && trouble !== "denied") {
      const failed = waiter.failed.get(of) ?? { sinceMs: this.#nowMs, count: 0, isFound: false };
      waiter.failed.set(of, failed);
      failed.count += 1;
      // Some of them may be sent in the background: the call does not wait for their answers.
      if (failed.count < 3 || this.#nowMs - failed.sinceMs < 2 * this.#boundMs) return;
      if (this.#isRareYet) return;
      // What the table serves of no call is expected below.
      if (failed.isFound || this.#servedMs <= failed.sinceMs) return;
      const servedMs = this.#servedOfKindMs.get(of) ?? BEGINNING_MS;
      this.#watched.timers.set(AT_ONCE_MS, false, () => {
        if (!waiter.isWaiting || this.#toldMs >= Math.min(servedMs, failed.sinceMs)) return;
        failed.isFound = true;
        this.#fail(waiter, `of ${failed.count} failed requests to ${of}`, failed.sinceMs);
      });
    }
  }

  #failed(operation: string, trouble: Trouble, waiter: Waiter): void {
    waiter.unserved ??= { servedMs: this.#servedMs, denied: new Set(), run: undefined };
    const { unserved } = waiter;
    if (trouble === "denied" && !unserved.denied.has(operation)) {
      unserved.denied.add(operation);
      this.#expectAtOnce(operation, waiter);
    }
    const { run } = unserved;
    const servedOfMs = this.#servedOfMs.get(operation) ?? BEGINNING_MS;
    if (run?.trouble === trouble) {
      run.failures += 1;
      run.operation = operation;
      run.servedOfMs = servedOfMs;
      // A table that has answered another call meanwhile was not away.
      if (trouble === "unknown" && run.sinceMs < this.#answeredMs) run.sinceMs = this.#nowMs;
      return;
    }
    unserved.run = { trouble, sinceMs: this.#nowMs, failures: 1, operation, servedOfMs };
    if (trouble !== "denied") this.#expectLater(waiter, unserved.run, this.#boundMs + SLACK_MS);
  }

  #expectAtOnce(operation: string, waiter: Waiter): void {
    const sinceMs = this.#nowMs;
    const servedMs = this.#servedOfMs.get(operation) ?? BEGINNING_MS;
    this.#watched.timers.set(AT_ONCE_MS, false, () => {
      if (!waiter.isWaiting || this.#toldDeniedMs >= Math.min(servedMs, sinceMs)) return;
      this.#fail(waiter, `at once that a ${operation} is refused`, sinceMs);
    });
  }

  /** `isSure`: the check before this one failed, too. After a pause, answers may have waited behind a timer. */
  #expectLater(waiter: Waiter, run: Run, delayMs: number, isSure = false): void {
    this.#watched.timers.set(delayMs, false, () => {
      const { unserved } = waiter;
      if (!waiter.isWaiting || unserved?.run !== run) return;
      const again = (afterMs: number): void => this.#expectLater(waiter, run, afterMs);
      const { trouble, sinceMs, failures, operation } = run;
      const isSilence = trouble === "unknown";
      if (isSilence && sinceMs < this.#answeredMs) return again(SLACK_MS);
      const leftMs = sinceMs + this.#boundMs + SLACK_MS - this.#nowMs;
      if (leftMs > 0) return again(leftMs);
      // One refused request is not an outage.
      if (!isSilence && failures === 1) return again(SLACK_MS);
      // A refusal may be one of a single item, or of an operation, while the table serves the others: one notice is enough.
      const refusedMs = Math.min(unserved.servedMs, run.servedOfMs);
      const [of = ""] = operation.split(" ");
      const servedOfMs = this.#servedOfKindMs.get(of) ?? BEGINNING_MS;
      const beganMs = isSilence ? Math.min(this.#servedMs, servedOfMs) : refusedMs;
      if (this.#toldMs >= beganMs) return again(this.#boundMs);
      if (this.#isRareYet) return again(this.#boundMs);
      if (!isSure) return this.#expectLater(waiter, run, SLACK_MS, true);
      this.#fail(waiter, `within ${this.#boundMs} ms of requests that are ${trouble}`, sinceMs);
    });
  }

  #fail({ what }: Waiter, notTold: string, sinceMs: number): void {
    const { name, fail } = this.#watched;
    fail(`${name} ${what}, and was not told ${notTold}, at ${sinceMs.toFixed(0)} ms of its clock`);
  }

  /** Whether the next word may still be to come, as words that follow each other are rare. */
  get #isRareYet(): boolean {
    const nextMs = this.#toldMs + this.#pauseMs + this.#boundMs;
    return this.#pauseMs > this.#boundMs && this.#nowMs < nextMs;
  }

  get #boundMs(): number {
    return Math.max(this.#watched.requestTimeoutMs, LEAST_MS);
  }

  get #nowMs(): number {
    return this.#watched.clock.monotonicMs();
  }
}

function troubleIn(kind: string): Trouble | undefined {
  if (kind === "unknown") return "unknown";
  if (kind === "misconfigured") return "denied";
  return kind === "throttled" || kind === "skewed" ? "throttled" : undefined;
}

/** As the client tells them apart: a policy may refuse the reads of sessions alone. */
function operationOf(request: Sent): string {
  if (request.kind === "write") return `write ${request.write.as}`;
  const isOfSession =
    request.kind === "read" && JSON.stringify(request.read.key).includes('"session#');
  return isOfSession ? "read of a session" : request.kind;
}

function isOfWait(request: Sent): boolean {
  if (request.kind === "write") return !isAfterwards(request.write);
  return request.kind !== "transact" || !request.transaction.writes.some(isAfterwards);
}

/** Whether a write only undoes what the call no longer waits for: it is sent in the background. */
function isAfterwards({ as, change }: Write): boolean {
  const isFreed = (attribute: string): boolean =>
    attribute === "holder" || attribute.startsWith("permit#");
  const isWithdrawn = Object.keys(change.set).some((one) => one.startsWith("withdrawn#"));
  return as === "delete" || isWithdrawn || change.remove.some(isFreed);
}
