import type { Timer, Timers } from "../platform/timers.js";
import type { Unavailable } from "./unavailable.js";

/** What a waiter of this process gets when it is its turn: the table to itself, or a grant. */
export type Turn<Granted> = "contend" | Granted;

/** One acquisition that waits in this process's line for a name. */
export class LocalWaiter<Settings, Granted> {
  readonly settings: Settings;
  /** Its turn, or the error with which it gave up, whichever came first. */
  readonly turn: Promise<Turn<Granted>>;
  #settle:
    | { readonly take: (turn: Turn<Granted>) => void; readonly fail: (error: unknown) => void }
    | undefined;

  constructor(settings: Settings) {
    this.settings = settings;
    this.turn = new Promise((take, fail) => {
      this.#settle = { take, fail };
    });
  }

  /** Whether it still wants the lock: it has not given up, and has not been given anything. */
  get isWaiting(): boolean {
    return this.#settle !== undefined;
  }

  /** Gives the waiter its turn, or the grant itself; false if it has given up meanwhile. */
  offer(turn: Turn<Granted>): boolean {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.take(turn);
    return settle !== undefined;
  }

  giveUp(error: unknown): void {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.fail(error);
  }
}

/** The hold that a line stands behind. */
export interface Occupant {
  /** Whether nothing but a question notices its deadline. */
  readonly isManual: boolean;
  remainingMs(): number;
  /** Ends it if its deadline has passed. */
  check(): void;
}

/**
 * The waiters of this process for one name, in the order in which they came. Only one at a time talks
 * to the table, and none while the process holds the name: N waiters cost as much as one.
 */
export class LocalQueue<Settings, Granted> {
  readonly #waiting: LocalWaiter<Settings, Granted>[] = [];
  /** How often in a row the lock was handed over without leaving the process. */
  localHandoffs = 0;
  /** Why the one of them that talks to the table is told nothing; undefined while it is. */
  trouble: Unavailable | undefined;
  #isBusy = false;
  #occupant: Occupant | undefined;
  #watch: Timer | undefined;
  readonly #timers: Timers;
  readonly #onIdle: () => void;

  constructor(timers: Timers, onIdle: () => void) {
    this.#timers = timers;
    this.#onIdle = onIdle;
  }

  get hasWaiters(): boolean {
    return this.#waiting.length > 0;
  }

  /** A hold has the turn now, until it ends. */
  occupy(occupant: Occupant): void {
    this.#occupant = occupant;
    this.#watchOccupant();
  }

  /** Whether somebody of this process holds the name, contends for it, or passes it on. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Takes the turn if nobody has it. Whoever has it must call {@link next} when done. */
  tryEnter(): boolean {
    this.#occupant?.check();
    if (this.#isBusy) return false;
    this.#isBusy = true;
    return true;
  }

  wait(waiter: LocalWaiter<Settings, Granted>): void {
    this.#waiting.push(waiter);
    this.#watchOccupant();
  }

  waitFirst(waiter: LocalWaiter<Settings, Granted>): void {
    this.#waiting.unshift(waiter);
  }

  /** The waiter gives up, in the same instant for itself and for whoever would hand over to it. */
  leave(waiter: LocalWaiter<Settings, Granted>, error: unknown): void {
    waiter.giveUp(error);
    const at = this.#waiting.indexOf(waiter);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  /** Takes the first waiter out of the line, to hand the lock to it. */
  shift(): LocalWaiter<Settings, Granted> | undefined {
    return this.#waiting.shift();
  }

  /** The turn is over: the next waiter contends, or the line is idle. */
  next(): void {
    this.#occupant = undefined;
    this.#watch?.cancel();
    this.#watch = undefined;
    for (let waiter = this.shift(); waiter !== undefined; waiter = this.shift()) {
      if (waiter.offer("contend")) return;
    }
    this.#isBusy = false;
    this.#onIdle();
  }

  // A lease that is renewed by hand has no timer of its own: those who wait behind it have one.
  #watchOccupant(): void {
    const occupant = this.#occupant;
    if (occupant?.isManual !== true || !this.hasWaiters || this.#watch !== undefined) return;
    this.#watch = this.#timers.set(Math.max(occupant.remainingMs(), 1), true, () => {
      this.#watch = undefined;
      occupant.check();
      this.#watchOccupant();
    });
  }
}

/** The lines of one client, made when somebody comes and dropped when nobody is left. */
export class LocalQueues<Settings, Granted> {
  readonly #localQueues = new Map<string, LocalQueue<Settings, Granted>>();
  readonly #timers: Timers;
  readonly #isShared: boolean;

  /** `isShared` false: everybody has a line to himself, so that nobody waits for anybody. */
  constructor(timers: Timers, isShared = true) {
    this.#timers = timers;
    this.#isShared = isShared;
  }

  /** A line that nobody else stands in. */
  alone(): LocalQueue<Settings, Granted> {
    return new LocalQueue(this.#timers, () => undefined);
  }

  of(id: string): LocalQueue<Settings, Granted> {
    if (!this.#isShared) return this.alone();
    const known = this.#localQueues.get(id);
    if (known !== undefined) return known;
    const localQueue = new LocalQueue<Settings, Granted>(this.#timers, () =>
      this.#localQueues.delete(id),
    );
    this.#localQueues.set(id, localQueue);
    return localQueue;
  }
}
