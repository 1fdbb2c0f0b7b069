import { LinkedList } from "../internal/linked-list.js";
import type { SignalLike } from "../platform/abort.js";
import type { Timer, Timers } from "../platform/timers.js";
import type { Unavailable } from "./unavailable.js";

/** The result of a waiter's turn: the right to contend for the lock, or a grant. */
export type Turn<Granted> =
  | { readonly kind: "contend" }
  | { readonly kind: "granted"; readonly result: Granted };

/** How a waiter follows its place in the lock's queue in the table. */
export interface PlaceListener {
  /** Called when the number of waiters ahead of this waiter changes. */
  readonly onPosition?: ((position: number) => void) | undefined;
  /** Whether the waiter gives up when its place expires. Otherwise it joins again at the back. */
  readonly failsWithoutPlace?: boolean | undefined;
}

/** A place in the lock's queue in the table for the waiters of this process, with a ticket for each. */
export interface SharedPlace {
  /** Whether the place is held now, by the clocks. */
  readonly isHeld: boolean;
  /** Aborts when the place is lost. */
  readonly lossSignal: SignalLike;
  /** Aborts at the end of the session that ends the place, if any. */
  readonly endsWith?: SignalLike | undefined;
  /** The next ticket that was not granted, or undefined if all were. */
  readonly next: bigint | undefined;
  readonly last: bigint;
  /** Uses up the next ticket. */
  take(): bigint | undefined;
  /** Leaves the lock's queue in the table, in the background. */
  leave(): void;
}

/** One acquisition in this process's queue for a name. */
export class LocalWaiter<Settings, Granted> {
  readonly settings: Settings;
  readonly listener: PlaceListener;
  /**
   * Tells the waiter how the holder's release goes: why DynamoDB did not answer a write of it, or, without a reason, that it
   * did. Until then the waiter sends no request of its own, and would not know of an outage.
   */
  readonly tell: (why?: Unavailable) => void;
  #position: number | undefined;
  /** Resolves with the turn. Rejects with the error if the waiter gives up first. */
  readonly turn: Promise<Turn<Granted>>;
  #settle:
    | { readonly take: (turn: Turn<Granted>) => void; readonly fail: (error: unknown) => void }
    | undefined;

  constructor(
    settings: Settings,
    listener: PlaceListener = {},
    tell: (why?: Unavailable) => void = () => undefined,
  ) {
    this.settings = settings;
    this.listener = listener;
    this.tell = tell;
    this.turn = new Promise((take, fail) => {
      this.#settle = { take, fail };
    });
  }

  /** Whether the waiter wants to know its position. */
  get follows(): boolean {
    return this.listener.onPosition !== undefined;
  }

  /** Whether the acquisition still waits: no turn yet, and not given up. */
  get isWaiting(): boolean {
    return this.#settle !== undefined;
  }

  /** Offers a grant to the waiter. Returns false if the waiter has given up. */
  offer(result: Granted): boolean {
    return this.#take({ kind: "granted", result });
  }

  /** Lets the waiter contend. Returns false if the waiter has given up. */
  contend(): boolean {
    return this.#take({ kind: "contend" });
  }

  #take(turn: Turn<Granted>): boolean {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.take(turn);
    return settle !== undefined;
  }

  /** Reports the position to the waiter, if the position has changed. */
  announce(position: number): void {
    if (position === this.#position) return;
    this.#position = position;
    this.listener.onPosition?.(position);
  }

  giveUp(error: unknown): void {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.fail(error);
  }
}

/** The hold that a queue waits for. */
interface Occupant {
  /** Whether the hold has no timer, so that only a check notices its deadline. */
  readonly isManual: boolean;
  remainingMs(): number;
  /** Ends the hold if its deadline has passed. */
  check(): void;
  /** Gives the lock back if it is only kept for a next use. Undefined if it is not. The promise never rejects. */
  yields?(): Promise<void> | undefined;
}

/**
 * Queues the waiters of this process for one name, first come, first served. Only the first waiter sends requests,
 * and none does while this process holds the lock. So N waiters cost as much as one.
 */
export class LocalQueue<Settings, Granted> {
  readonly #waiting = new LinkedList<LocalWaiter<Settings, Granted>>();
  /** How many waiters want to know their positions. Without such a waiter, no change of the queue visits the others. */
  #followers = 0;
  /** The number of consecutive hand-offs within the process. */
  #localHandoffs = 0;
  #keptUntilMs: number | undefined;
  #place: SharedPlace | undefined;
  /** The number of waiters before the first waiter of this queue; undefined while it is not known. */
  #before: number | undefined;
  #unavailable: Unavailable | undefined;
  /** Whether DynamoDB answered the last request of the waiter that contends. */
  #isAnswered = false;
  #isBusy = false;
  #occupant: Occupant | undefined;
  #watch: Timer | undefined;
  #announcement: Timer | undefined;
  readonly #timers: Timers;
  readonly #onIdle: () => void;
  readonly #isWantedBeside: () => boolean;

  /** `isWantedBeside`: whether this process contends for the name in another queue, too. Default: never. */
  constructor(timers: Timers, onIdle: () => void, isWantedBeside = () => false) {
    this.#timers = timers;
    this.#onIdle = onIdle;
    this.#isWantedBeside = isWantedBeside;
  }

  /** Whether calls of this process wait for the name, also those that no release here can hand it to. */
  get isWanted(): boolean {
    return this.hasWaiters || this.#isWantedBeside();
  }

  get hasWaiters(): boolean {
    return this.#waiting.size > 0;
  }

  get first(): LocalWaiter<Settings, Granted> | undefined {
    return this.#waiting.first;
  }

  get waiters(): readonly LocalWaiter<Settings, Granted>[] {
    return [...this.#waiting];
  }

  /** The place of this process in the lock's queue in the table, while a ticket of the place is left. */
  get place(): SharedPlace | undefined {
    return this.#place;
  }

  /** Keeps a place for the waiters of this process. */
  keepPlace(place: SharedPlace): void {
    this.#place = place;
  }

  /** Uses up the next ticket of the place. Gives up the place if it has no ticket left. */
  takeTicket(): bigint | undefined {
    const ticket = this.#place?.take();
    if (this.#place?.next === undefined) this.leavePlace();
    return ticket;
  }

  leavePlace(): void {
    this.#place?.leave();
    this.#place = undefined;
  }

  /** Called when the place has expired. Ends each waiter that had a ticket of it and has `failsWithoutPlace`. */
  placeExpired(error: unknown): void {
    const place = this.#place;
    // The next ticket belongs to the contending waiter, which is not in `#waiting`.
    const lost = place?.next === undefined ? 0 : Number(place.last - place.next);
    this.leavePlace();
    for (const waiter of this.waiters.slice(0, lost)) {
      if (waiter.listener.failsWithoutPlace === true) this.leave(waiter, error);
    }
  }

  /** Reports each waiter's position: the waiters before it in this process, and in other processes. */
  announce(before: number): void {
    this.#before = before;
    this.#announcement?.cancel();
    this.#announcement = undefined;
    if (this.#followers === 0) return;
    for (const [index, waiter] of this.waiters.entries()) this.#tell(waiter, before + index);
  }

  // Many waiters may give up together, and each would change the positions of all waiters behind it.
  #announceSoon(): void {
    const before = this.#before;
    if (this.#followers === 0 || before === undefined) return;
    this.#announcement ??= this.#timers.set(0, false, () => this.announce(before));
  }

  #tell(waiter: LocalWaiter<Settings, Granted>, position: number): void {
    try {
      waiter.announce(position);
    } catch (error) {
      this.leave(waiter, error);
    }
  }

  get localHandoffs(): number {
    return this.#localHandoffs;
  }

  /** Why DynamoDB did not answer the last request of the contending waiter, or undefined if DynamoDB answered. */
  get unavailable(): Unavailable | undefined {
    return this.#unavailable;
  }

  /** The contending waiter reports why DynamoDB did not answer its request, or undefined if DynamoDB answered. */
  setUnavailable(unavailable: Unavailable | undefined): void {
    this.#unavailable = unavailable;
    this.#isAnswered = unavailable === undefined;
  }

  /** Counts a hand-off to a waiter of this process. */
  handedOver(): void {
    this.#localHandoffs += 1;
  }

  /**
   * Returns until when this process may keep the lock between its uses, on the monotonic clock: the first such time since
   * it got the lock, through all hand-offs.
   */
  keepUntil(untilMs: number): number {
    this.#keptUntilMs ??= untilMs;
    return this.#keptUntilMs;
  }

  /** Gives the turn to a hold, until the hold ends. */
  occupy(occupant: Occupant): void {
    this.#occupant = occupant;
    this.#isAnswered = false;
    this.#watchOccupant();
    this.announce(0);
  }

  /** Whether this process holds the name, contends for it, or hands it off. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Takes the turn, unless another acquisition has it. Afterwards the caller must call {@link next}. */
  tryEnter(): boolean {
    this.#occupant?.check();
    if (this.#isBusy) return false;
    this.#isBusy = true;
    return true;
  }

  /** Gives the lock back if it is only kept for a next use. Undefined if it is not. */
  yields(): Promise<void> | undefined {
    return this.#occupant?.yields?.();
  }

  wait(waiter: LocalWaiter<Settings, Granted>): void {
    this.#waiting.addLast(waiter);
    if (waiter.follows) this.#followers += 1;
    this.#watchOccupant();
    void this.yields();
    if (this.#before !== undefined) this.#tell(waiter, this.#before + this.#waiting.size - 1);
  }

  waitFirst(waiter: LocalWaiter<Settings, Granted>): void {
    this.#waiting.addFirst(waiter);
    if (waiter.follows) this.#followers += 1;
  }

  /** Removes a waiter that gives up, synchronously, so that no hand-off can reach the waiter. */
  leave(waiter: LocalWaiter<Settings, Granted>, error: unknown): void {
    waiter.giveUp(error);
    if (!this.#waiting.delete(waiter)) return;
    if (waiter.follows) this.#followers -= 1;
    this.#announceSoon();
  }

  /** Removes and returns the first waiter, for a hand-off. */
  shift(): LocalWaiter<Settings, Granted> | undefined {
    const waiter = this.#waiting.shift();
    if (waiter?.follows === true) this.#followers -= 1;
    return waiter;
  }

  /** Ends the turn, by a release or a loss: the next waiter contends, or the queue is idle. */
  next(): void {
    this.#occupant = undefined;
    this.#localHandoffs = 0;
    this.#keptUntilMs = undefined;
    this.#before = undefined;
    this.#watch?.cancel();
    this.#watch = undefined;
    this.#announcement?.cancel();
    this.#announcement = undefined;
    for (let waiter = this.shift(); waiter !== undefined; waiter = this.shift()) {
      // Its own wait may end before its first answer, and that would look like an outage.
      if (this.#isAnswered) waiter.tell();
      if (waiter.contend()) return;
    }
    this.leavePlace();
    this.#isBusy = false;
    this.#onIdle();
  }

  /** The deadline of the hold that has the turn may have become an earlier one. */
  deadlineMoved(): void {
    this.#watch?.cancel();
    this.#watch = undefined;
    this.#watchOccupant();
  }

  // A manually renewed lease has no timer of its own, so the queue watches its deadline.
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
