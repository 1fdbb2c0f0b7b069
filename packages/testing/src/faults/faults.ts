import { HoldfastError } from "holdfast";
import {
  type Call,
  checkNames,
  type OptionNames,
  type Query,
  type Read,
  type ReadAnswer,
  type Scan,
  type ScanAnswer,
  systemTimers,
  type TablePort,
  type Transacting,
  type Write,
  type WriteAnswer,
} from "holdfast/internal";
import type { TamperableTable } from "../table/memory-table.js";
import type { SeededRandom } from "../time/seeded-random.js";
import { Connections } from "./connections.js";
import { exchange, type Failure, type RequestHost, repeated, travel, unknown } from "./exchange.js";
import {
  checkFault,
  checkPort,
  checkPossible,
  checkRequestKind,
  dequeue,
  type Fault,
  type FaultKind,
  type FaultProbabilities,
  type FaultRequest,
  type FaultScript,
  keyOf,
  NO_FAULTS,
  NO_REQUESTS,
  type Planned,
  type RequestKind,
  randomFaults,
} from "./fault-plan.js";

/** The delays of a request without a fault. */
export interface Latency {
  readonly requestMs: number;
  readonly responseMs: number;
}

/** How a faulty table is made. */
export interface FaultyTableOptions {
  /** Called once for each request, with or without a fault. Default: no delay. */
  readonly latency?: () => Latency;
  /**
   * How many requests the process sends at once, as an HTTP client does; the others wait in order, and their timeouts
   * run meanwhile. Default: any number.
   */
  readonly connections?: number;
}

const NAMES: OptionNames<FaultyTableOptions> = { latency: true, connections: true };

/** A request in flight: how to apply the request, and how to answer the caller. */
interface Sending<A> {
  readonly request: FaultRequest;
  readonly latency: Latency;
  readonly carryOut: () => Promise<A>;
  readonly reply: (answer: A | Failure) => void;
  readonly fail: (reason: unknown) => void;
}

export const NO_LATENCY: Latency = Object.freeze({ requestMs: 0, responseMs: 0 });

/**
 * A table behind an unreliable network. Wraps any table for one process. Give each process its own
 * `FaultyTable` around the shared table.
 *
 * For each request the plan chooses the fault: first faults queued with `next`, then the script, then random
 * faults; by default no fault. Every call is answered by its `timeoutMs` on the host's timers, and at once when
 * its signal aborts; a request already sent continues. The faults `stale` and `item-gone` need a
 * {@link TamperableTable}, such as a `MemoryTable`.
 */
export class FaultyTable implements TablePort {
  readonly tellsDate: boolean | undefined;
  readonly #table: TablePort | TamperableTable;
  readonly #host: RequestHost;
  readonly #options: FaultyTableOptions;
  readonly #queued: Planned[] = [];
  #script: FaultScript | undefined;
  #random: FaultScript | undefined;
  readonly #connections: Connections | undefined;
  #injected = NO_FAULTS;
  #requests = NO_REQUESTS;

  /**
   * @param table the table that receives the requests.
   * @param host the sender of the requests: a `VirtualProcess`, or the timers of this process (default).
   */
  constructor(
    table: TablePort,
    host: RequestHost = { timers: systemTimers },
    options: FaultyTableOptions = {},
  ) {
    checkPort("FaultyTable", table, "write");
    checkNames("FaultyTable", options, NAMES);
    this.#table = table;
    this.tellsDate = table.tellsDate;
    this.#host = host;
    this.#options = options;
    const { connections } = options;
    this.#connections = connections === undefined ? undefined : new Connections(connections);
  }

  get connections(): number | undefined {
    return this.#options.connections;
  }

  get waitingForConnection(): number | undefined {
    return this.#connections?.waiting;
  }

  /** How many faults of each kind were injected. */
  get injected(): Readonly<Record<FaultKind, number>> {
    return this.#injected;
  }

  /** How many requests of each kind were made. */
  get requests(): Readonly<Record<RequestKind, number>> {
    return this.#requests;
  }

  get clockCorrectionMs(): number {
    return this.#table.clockCorrectionMs;
  }

  /** Injects this fault into the next request of this kind, or into the next `times` (default 1) requests. */
  next(kind: RequestKind | "any", fault: Fault, times = 1): void {
    checkRequestKind(kind);
    checkFault(fault);
    if (times > 0) this.#queued.push({ kind, fault, left: times });
  }

  /** Sets the script that chooses the faults of later requests; undefined removes the script. */
  script(script: FaultScript | undefined): void {
    this.#script = script;
  }

  /** Injects random faults when the script chooses none; undefined ends random faults. */
  random(random: SeededRandom, probabilities: FaultProbabilities | undefined): void {
    this.#random = probabilities === undefined ? undefined : randomFaults(random, probabilities);
  }

  /** Ends all faults for later requests. Requests in flight keep their faults. */
  clear(): void {
    this.#queued.length = 0;
    this.#script = undefined;
    this.#random = undefined;
  }

  write(write: Write, call: Call): Promise<WriteAnswer> {
    return this.#send({ kind: "write", write }, call, (to) => this.#table.write(write, to));
  }

  /** Undefined if the wrapped table has no transactions. */
  get transact(): Transacting | undefined {
    const send = this.#table.transact?.bind(this.#table);
    return (
      send &&
      ((transaction, call) =>
        this.#send({ kind: "transact", transaction }, call, (to) => send(transaction, to)))
    );
  }

  read(read: Read, call: Call): Promise<ReadAnswer> {
    return this.#send({ kind: "read", read }, call, (to) => this.#table.read(read, to));
  }

  scan(scan: Scan, call: Call): Promise<ScanAnswer> {
    return this.#send({ kind: "scan", scan }, call, (to) => this.#table.scan(scan, to));
  }

  query(query: Query, call: Call): Promise<ScanAnswer> {
    return this.#send({ kind: "query", query }, call, (to) => this.#table.query(query, to));
  }

  async #send<A>(
    request: FaultRequest,
    call: Call,
    carryOut: (inner: Call) => Promise<A>,
  ): Promise<A | Failure> {
    if (call.signal?.aborted) return { kind: "unknown", cause: call.signal.reason };
    const fault = this.#plan(request);
    const latency = this.#options.latency?.() ?? NO_LATENCY;
    // Without the caller's signal: a request already sent is not recalled by an abort.
    const inner: Call = { timeoutMs: call.timeoutMs };
    let over = (): void => undefined;
    const answer = exchange<A>(this.#host, call, (reply, fail) => {
      const sending = { request, latency, carryOut: () => carryOut(inner), reply, fail };
      const send = (): void => {
        if (fault === undefined) this.#carry(sending, sending.reply);
        else this.#inject(sending, fault);
      };
      if (this.#connections === undefined) send();
      else over = this.#connections.use(send);
    });
    if (this.#connections === undefined) return answer;
    return answer.finally(() => over());
  }

  #plan(request: FaultRequest): Fault | undefined {
    const ordinal = this.#requests[request.kind] + 1;
    this.#requests = { ...this.#requests, [request.kind]: ordinal };
    const fault =
      dequeue(this.#queued, request.kind) ??
      this.#script?.(request, ordinal) ??
      this.#random?.(request, ordinal);
    if (fault === undefined) return undefined;
    checkPossible(request, fault);
    // Checked here, so that an impossible test fails before a request is sent.
    if (fault.fault === "stale" || fault.fault === "item-gone") this.#tamperable(fault.fault);
    this.#injected = { ...this.#injected, [fault.fault]: this.#injected[fault.fault] + 1 };
    return fault;
  }

  #inject<A>(sending: Sending<A>, fault: Fault): void {
    const { latency } = sending;
    switch (fault.fault) {
      case "request-lost":
        this.#breakOff(sending, fault.unknownAfterMs);
        break;
      case "response-lost":
        this.#breakOff(sending, fault.unknownAfterMs);
        this.#carry(sending, () => {});
        break;
      case "applied-late":
        this.#breakOff(sending, fault.unknownAfterMs);
        this.#carry(sending, () => {}, { requestMs: fault.delayMs });
        break;
      case "response-lost-and-retried":
        this.#carry(
          sending,
          () => this.#carry(sending, (answer) => sending.reply(repeated(answer))),
          {
            responseMs: latency.responseMs + (fault.retryAfterMs ?? 0),
          },
        );
        break;
      case "duplicated":
        this.#carry(sending, sending.reply);
        this.#carry(sending, () => {}, { requestMs: latency.requestMs + fault.delayMs });
        break;
      case "reordered":
        this.#carry(sending, sending.reply, { requestMs: fault.delayMs });
        break;
      case "delayed":
        this.#carry(sending, sending.reply, { responseMs: fault.delayMs });
        break;
      case "throttled":
      case "conflict":
        this.#decline(sending, { kind: fault.fault, cause: new Error(`injected: ${fault.fault}`) });
        break;
      case "misconfigured":
        this.#decline(sending, { kind: "misconfigured", error: fault.error });
        break;
      case "item-gone":
        this.#carry(sending, sending.reply, {}, () => this.#deleteItem(sending.request));
        break;
      case "stale":
        this.#answerStale(sending, fault.changesAgo ?? 1);
    }
  }

  /** Carries the request to the table, applies the request, and carries the answer back to `arrive`. */
  #carry<A>(
    sending: Sending<A>,
    arrive: (answer: A) => void,
    slower: Partial<Latency> = {},
    before: () => void = () => {},
  ): void {
    const { requestMs, responseMs } = { ...sending.latency, ...slower };
    const arriveLater = (answer: A): void => travel(this.#host, responseMs, () => arrive(answer));
    travel(this.#host, requestMs, () => {
      try {
        before();
        sending.carryOut().then(arriveLater, sending.fail);
      } catch (error) {
        // Thrown inside a timer, the error would surface far from its call.
        sending.fail(error);
      }
    });
  }

  #decline<A>(sending: Sending<A>, answer: Failure): void {
    const { requestMs, responseMs } = sending.latency;
    travel(this.#host, requestMs + responseMs, () => sending.reply(answer));
  }

  #breakOff<A>(sending: Sending<A>, afterMs: number | undefined): void {
    // Without `unknownAfterMs` the call's own timeout answers the caller.
    if (afterMs === undefined) return;
    travel(this.#host, afterMs, () => sending.reply(unknown("the connection was reset")));
  }

  #deleteItem(request: FaultRequest): void {
    const key = keyOf(request);
    if (key !== undefined) this.#tamperable("item-gone").deleteItem(key);
  }

  #answerStale<A>(sending: Sending<A>, changesAgo: number): void {
    const { request } = sending;
    if (request.kind !== "read") return;
    const table = this.#tamperable("stale");
    const stale: Sending<ReadAnswer> = {
      ...sending,
      carryOut: async () => table.staleRead(request.read, changesAgo),
      // Only reads can have a stale answer, so the reply takes a read's answer.
      reply: sending.reply as Sending<ReadAnswer>["reply"],
    };
    this.#carry(stale, stale.reply);
  }

  #tamperable(fault: FaultKind): TamperableTable {
    if ("staleRead" in this.#table) return this.#table;
    throw new HoldfastError(
      "invalid-argument",
      `The fault "${fault}" needs a table that lets a test change its items, such as a MemoryTable.`,
    );
  }
}
