import type { LeaseTransfer } from "../../packages/holdfast/src/index.js";
import type { Item, Transacting, Write } from "../../packages/holdfast/src/platform/table.js";
import { type FaultRequest, keyOf } from "../../packages/testing/src/faults/fault-plan.js";
import {
  MemoryTable,
  type TamperableTable,
} from "../../packages/testing/src/table/memory-table.js";
import { VirtualTime } from "../../packages/testing/src/time/virtual-time.js";
import { check } from "../sim/checkers.js";
import type { Event, Timed, Violation } from "../sim/history.js";
import { Protocol } from "../sim/protocol/protocol.js";
import { Records } from "../sim/records.js";
import { Settling } from "../sim/settling.js";
import { recordIn } from "../sim/witness.js";
import { isJudged } from "../sim/world/judged.js";
import { Actor, type Stage } from "./actor.js";
import { type Costs, isRough, isToldLater, limitOf, termsOf, tooDear } from "./bounds.js";
import {
  type Choice,
  DELETED,
  LEASE_MS,
  PROCESS_CHOICES,
  REQUEST_CHOICES,
  REQUEST_TIMEOUT_MS,
  UNREADABLE,
  VERY_LATE_MS,
} from "./choices.js";
import { type Exchange, type Kind, kindOf } from "./kinds.js";
import { nameOf, type Placed, type Placement } from "./placement.js";
import { Trace } from "./trace.js";

/** A moment after the last fault of a placement, at which one more can be placed. */
export interface Moment {
  readonly point: string;
  readonly choices: readonly string[];
}

/** What one run shows. */
export interface Result {
  readonly violations: readonly Violation[];
  readonly history: readonly Timed[];
  readonly costs: Costs;
  /** Equal only for runs that are equal in every state. */
  readonly hash: string;
  /** The number of moments before and at the last fault. */
  readonly depth: number;
  readonly later: readonly Moment[];
}

/** Faults are placed at this many requests of each process. */
const MOST_REQUESTS = 10;

// What the checkers of other runs do not know: a waiter in a queue also looks at the holder's session in the background, without
// a word about failures; and a copy of a grant that an operator undid is granted again, to the holder that was asked.
const IN_PROGRAMS =
  /not told at once that a read of a session is refused|\(released-by-force\), without a fault/;
const SECOND_AFTER_MS = 50;
// A client closes its shared session after a lease without locks on it.
const REST_MS = 2 * LEASE_MS + 2_000;

/** The faults of a placement, each of which must find its moment. */
class Placing {
  readonly later: Moment[] = [];
  depth = 0;
  isOver = false;
  readonly #isLast: boolean;
  readonly #left: Placed[];

  constructor(placed: readonly Placed[], isLast: boolean) {
    this.#left = [...placed];
    this.#isLast = isLast;
  }

  /** Whether no moment from now on matters. */
  get isDone(): boolean {
    return this.isOver || (this.#isLast && this.#left.length === 0);
  }

  /** Returns what happens at a moment, of these choices. */
  at<C extends Choice>(point: string, choices: readonly C[]): C | undefined {
    if (choices.length === 0 || this.isDone) return undefined;
    const [next] = this.#left;
    if (next === undefined) {
      this.later.push({ point, choices: choices.map(({ name }) => name) });
      return undefined;
    }
    this.depth += 1;
    const chosen = choices.find(({ name }) => next.point === point && next.choice === name);
    if (chosen !== undefined) this.#left.shift();
    return chosen;
  }

  /** The faults that found no moment. */
  get unplaced(): readonly Placed[] {
    return this.#left;
  }
}

/** One run: two processes use one kind of lock, and meet exactly the faults of a placement. */
class Run implements Stage {
  readonly time = new VirtualTime();
  readonly trace: Trace;
  readonly protocol: Protocol;
  readonly reported: Error[] = [];
  readonly isRough: boolean;
  readonly hasFaults: boolean;
  readonly #placement: Placement;
  readonly #kind: Kind;
  readonly #table: MemoryTable;
  readonly #records: Records;
  readonly #placing: Placing;
  readonly #actors: Actor[] = [];
  readonly #work: Promise<unknown>[] = [];
  readonly #history: Timed[] = [];
  readonly #violations: Violation[] = [];
  readonly #exchange: Exchange;
  #writer = "";

  constructor(placement: Placement, isLast: boolean) {
    this.#placement = placement;
    this.trace = new Trace(this.time, !isLast);
    const kind = kindOf(placement.kind);
    if (kind === undefined) throw new Error(`Nothing is named "${placement.kind}".`);
    this.#kind = kind;
    this.#placing = new Placing(placement.placed, isLast);
    let give = (_: LeaseTransfer | undefined): void => undefined;
    const transfer = new Promise<LeaseTransfer | undefined>((resolve) => {
      give = resolve;
    });
    this.#exchange = { transfer, give };
    this.isRough = isRough(placement);
    this.hasFaults = placement.placed.length > 0;
    const terms = termsOf(placement, kind);
    this.protocol = new Protocol({
      terms,
      nowMs: () => this.time.nowMs,
      trueWallMs: () => this.time.wallMs,
      fail: (invariant, what) => this.fail(invariant, what),
    });
    this.#records = new Records(
      { isExclusive: terms.isExclusive, seesQueues: true },
      () => this.time.wallMs,
      (event) => this.note(event),
      (invariant, what) => this.fail(invariant, what),
    );
    this.#table = new MemoryTable({
      keyAttributes: ["pk", "sk"],
      time: this.time,
      keepsLog: false,
      remembersTokens: false,
      onChange: (change) => {
        const { write, before, after } = change;
        if (write !== undefined) this.protocol.applied(this.#writer, write, before, after);
        this.#records.changed(change, this.#writer);
      },
    });
  }

  note(event: Event): void {
    const timed = { ...event, atMs: this.time.nowMs };
    this.#history.push(timed);
    this.protocol.noted(timed);
  }

  readonly fail: Stage["fail"] = (invariant, what) => {
    this.#violations.push({ invariant, atMs: this.time.nowMs, what });
  };

  portOf(writer: string): TamperableTable {
    const table = this.#table;
    const arrived = <A extends { readonly kind: string }>(what: unknown, answer: A): A => {
      this.trace.add(writer, [what, answer.kind]);
      return answer;
    };
    const transact: Transacting = async (transaction, call) => {
      this.#writer = writer;
      return arrived(transaction, await table.transact(transaction, call));
    };
    return {
      write: async (write: Write, call) => {
        this.#writer = writer;
        return arrived(write, await table.write(write, call));
      },
      transact,
      read: (read, call) => table.read(read, call),
      scan: (scan, call) => table.scan(scan, call),
      query: (query, call) => table.query(query, call),
      staleRead: (read, changesAgo) => table.staleRead(read, changesAgo),
      deleteItem: (key) => table.deleteItem(key),
      clockCorrectionMs: 0,
      tellsDate: table.tellsDate,
    };
  }

  readonly handedOut: Stage["handedOut"] = (self, lease) => this.#records.handedOut(self, lease);

  readonly faultOf: Stage["faultOf"] = (self, request) => {
    if (self.sent > MOST_REQUESTS || this.#placing.isDone) return undefined;
    const fitting = REQUEST_CHOICES.filter(
      ({ name, isFor }) => isFor(request) && (name !== DELETED || this.#mayDelete(request)),
    );
    const spoilt = this.#freeRecordOf(request) === undefined ? [] : [UNREADABLE];
    return this.#placing.at(`${self.name}${self.sent}`, [...fitting, ...spoilt]);
  };

  readonly happeningOf: Stage["happeningOf"] = (self, point, at) => {
    if (self.sent > MOST_REQUESTS || this.#placing.isDone) return undefined;
    const hasThird = this.#actors.some(({ name }) => name === "c");
    const fitting = PROCESS_CHOICES.filter(
      ({ only, happens }) =>
        (only === undefined || at.includes(only)) && (happens !== "third" || !hasThird),
    );
    return this.#placing.at(point, fitting);
  };

  readonly startThird = (): void => void this.#start("c");

  readonly makeUnreadable = (request: FaultRequest): void => {
    const key = keyOf(request);
    const item = this.#freeRecordOf(request);
    if (key === undefined || item === undefined) return;
    this.#table.putItem(key, { ...item, v: { N: "2" } });
    this.trace.add("table", UNREADABLE.name);
    this.time.timers.set(UNREADABLE.forMs, true, () => {
      const now = this.#table.item(key);
      if (now !== undefined) this.#table.putItem(key, { ...now, v: { N: "1" } });
    });
  };

  // Of a semaphore, nobody may delete the record: it is the only memory of its permits.
  #mayDelete(request: FaultRequest): boolean {
    const key = keyOf(request);
    if (key === undefined || recordIn(key).kind === "permits") return false;
    return this.#table.item(key) !== undefined;
  }

  #freeRecordOf(request: FaultRequest): Item | undefined {
    const key = keyOf(request);
    const pk = key?.["pk"];
    if (key === undefined || pk === undefined || !("S" in pk)) return undefined;
    if (pk.S !== this.#kind.record) return undefined;
    const item = this.#table.item(key);
    const isHeld = item?.["holder"] !== undefined || item?.["used"] !== undefined;
    return isHeld ? undefined : item;
  }

  #start(name: string): Actor {
    const self = new Actor(this, name, { onSession: this.#kind.onSession === true });
    this.#actors.push(self);
    this.note({ kind: "process", by: name, what: "started" });
    const work = this.#kind.work(self, this.#exchange).catch((error: unknown) => {
      this.fail("unexpected error", `${name}: ${String(error)}`);
    });
    this.#work.push(Promise.race([work, self.death]));
    return self;
  }

  async run(): Promise<Result> {
    const settling = new Settling(this.time, (invariant, what) => this.fail(invariant, what));
    const limitMs = limitOf(this.#placement);
    this.#start("a");
    void this.#work[0]?.then(() => this.#exchange.give(undefined));
    await this.time.advance(SECOND_AFTER_MS);
    this.#start("b");
    // A third process begins while the others work.
    for (let ended = 0; ended < this.#work.length; ) {
      ended = this.#work.length;
      await settling.expectEnd("a process", [...this.#work], limitMs);
    }
    const costs: Costs = {
      endMs: this.time.nowMs,
      requests: this.#actors.reduce((sum, { sent }) => sum + sent, 0),
    };
    this.#placing.isOver = true;
    const hash = await this.#settle(settling);
    return {
      violations: await this.#judged(costs),
      history: this.#history,
      costs,
      hash,
      depth: this.#placing.depth,
      later: this.#placing.later,
    };
  }

  /** After the last late copy, a new process gets what the others used, and nothing is left of them. */
  async #settle(settling: Settling): Promise<string> {
    for (const self of this.#actors) {
      self.network.script(undefined);
      if (self.process.state === "paused") await this.time.advance(VERY_LATE_MS);
    }
    await this.time.advance(Math.max(VERY_LATE_MS + 4 * REQUEST_TIMEOUT_MS, REST_MS));
    const alive = this.#actors.filter(({ isDead }) => !isDead);
    const { queues } = this.#kind;
    for (const { name } of alive) this.note({ kind: "process", by: name, what: "at rest" });
    const newcomers = [this.#start("n")];
    await this.time.advance(SECOND_AFTER_MS);
    // A second one waits in the queue, and so removes the entries of late copies.
    if (queues.length > 0) newcomers.push(this.#start("m"));
    const limitMs = (this.#kind.isProgram === true ? 4 : 1) * (2 * LEASE_MS + 4_000);
    const served = Promise.all(this.#work.slice(-newcomers.length));
    await settling.expect("no orphan", "a new process got nothing", served, limitMs);
    await this.time.advance(1_000);
    const left = this.#table.items().filter(({ pk }) => {
      return pk !== undefined && "S" in pk && queues.some((name) => pk.S === `queue#${name}`);
    });
    if (left.length > 0)
      this.fail("nothing left", JSON.stringify(left.map(({ pk, sk }) => [pk, sk])));
    await settling.expectClosed(
      [...alive, ...newcomers].map(({ locks, closes }) =>
        // Its own close, under faults, may have left a release without an answer.
        closes ? locks.close().catch(() => undefined) : locks.close(),
      ),
    );
    for (const { name } of [...alive, ...newcomers]) this.protocol.closed(name);
    await this.time.advance(20_000);
    settling.expectNothingLeft(alive, this.reported, {
      hasFaults: this.hasFaults,
    });
    return this.trace.hash;
  }

  async #costsBefore(): Promise<Costs> {
    const { endMs, requests } = await costsOf(this.#placement.kind);
    return { endMs, requests: Math.max(requests, this.#kind.requestsUnkept ?? 0) };
  }

  async #judged(costs: Costs): Promise<Violation[]> {
    const { placed } = this.#placement;
    for (const { point, choice } of this.#placing.unplaced) {
      throw new Error(`${nameOf(this.#placement)}: "${point} ${choice}" never happens.`);
    }
    const found = [
      ...this.#violations,
      ...check(this.#history, termsOf(this.#placement, this.#kind)),
    ];
    const isTampered = placed.some(({ choice }) => choice === DELETED);
    const judged = found
      .filter((one) => !isTampered || isJudged("tampered world", one))
      .filter(({ invariant }) => invariant !== "no silence" || !isToldLater(this.#placement))
      .filter(({ what }) => this.#kind.isProgram !== true || !IN_PROGRAMS.test(what));
    const dear =
      placed.length === 0 || this.#kind.isProgram === true
        ? []
        : tooDear(this.#placement, costs, await this.#costsBefore());
    return [...judged, ...dear];
  }
}

const withoutFaults = new Map<string, Promise<Costs>>();

function costsOf(kind: Placement["kind"]): Promise<Costs> {
  const known = withoutFaults.get(kind) ?? run({ kind, placed: [] }).then(({ costs }) => costs);
  withoutFaults.set(kind, known);
  return known;
}

/**
 * Runs one placement. Rejects if one of its faults never happens. With `isLast`, no further fault is to be placed: the
 * result has no hash and no later moments.
 */
export function run(placement: Placement, isLast = false): Promise<Result> {
  return new Run(placement, isLast).run();
}
