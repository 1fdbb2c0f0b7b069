import TinyQueue from "tinyqueue";
import { onAbort, type SignalLike } from "../platform/abort.js";

/**
 * Which requests a client sends first while it may send no more at once.
 * - `keep`: keeps, moves or gives up what this process holds: renewals and the session, then releases.
 * - `claim`: everything else: claims, polls, inspections.
 */
export type Priority = "keep" | "claim";

// The SDK's own limit for one client. A request beyond it waits inside the SDK, where no deadline and no order applies.
const DEFAULT_CONNECTIONS = 50;
// Beyond this, one process gains nothing: it spends its time with the requests, and answers come late.
const MOST_AT_ONCE = 128;
// From so many waiting requests on, further acquisitions begin in slices.
const CROWD = 256;
// The other third stays free for renewals and releases, however many claims wait.
const CLAIMS_PART = 2 / 3;

interface Waiting {
  /** The smallest goes first. */
  readonly rank: number;
  /** Breaks ties: first come, first served. */
  readonly order: number;
  isGone: boolean;
  readonly admit: () => void;
}

/** The client did not send the request, because it had too many others. */
export interface Queued {
  readonly kind: "queued";
  /** How many requests waited, and how many the client sends at once. */
  readonly waiting: number;
  readonly most: number;
  readonly cause?: undefined;
}

type Line = TinyQueue<Waiting>;

const lineOf = (): Line =>
  new TinyQueue<Waiting>([], (a, b) => a.rank - b.rank || a.order - b.order);

/**
 * Bounds how many requests a client sends at once, so that none of them waits for a connection inside the SDK. There a
 * burst of claims would delay the renewals of held leases until the leases are lost, and each claim would time out
 * before it is sent. Here renewals and releases go first, and the time of a request begins with its turn.
 */
export class Admission {
  readonly #connections: () => number | undefined;
  #inFlight = 0;
  #claims = 0;
  #orders = 0;
  #keepers = lineOf();
  #claimers = lineOf();
  #waiting = 0;

  /** `connections`: how many requests the transport sends at once, as far as known. */
  constructor(connections: () => number | undefined) {
    this.#connections = connections;
  }

  /** How many requests wait for their turn. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many requests the client sends at once. */
  get most(): number {
    return Math.min(this.#connections() ?? DEFAULT_CONNECTIONS, MOST_AT_ONCE);
  }

  /** Whether so many requests wait that further acquisitions should begin later. */
  get isBusy(): boolean {
    return this.#waiting >= CROWD;
  }

  /** The next number in the order of arrival. A claim that is sent again keeps its number, so it goes first. */
  nextOrder(): number {
    this.#orders += 1;
    return this.#orders;
  }

  /** Takes a turn if the request may be sent now. The caller then calls {@link leave} after the answer. */
  tryEnter(priority: Priority): boolean {
    const isIn = this.#hasRoom(priority);
    if (isIn) this.#take(priority);
    return isIn;
  }

  /**
   * Waits for a turn. Resolves with false, without a turn, if the signal aborts first. Of the requests to keep something
   * the one with the smallest `rank` goes first, of the claims the one that asked first.
   */
  enter(
    priority: Priority,
    signal: SignalLike | undefined,
    rank: number,
    order = this.nextOrder(),
  ): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting: Waiting = {
        rank,
        order,
        isGone: false,
        admit: () => {
          stopListening();
          this.#waiting -= 1;
          this.#take(priority);
          resolve(true);
        },
      };
      this.#waiting += 1;
      this.#lineOf(priority).push(waiting);
      const stopListening = onAbort(signal, () => {
        waiting.isGone = true;
        this.#waiting -= 1;
        resolve(false);
      });
    });
  }

  /** Gives a turn back, and admits the next request. */
  leave(priority: Priority): void {
    this.#inFlight -= 1;
    if (priority === "claim") this.#claims -= 1;
    if (this.#waiting === 0) {
      this.#forgetGone();
      return;
    }
    this.#admitNext("keep");
    this.#admitNext("claim");
  }

  /** A burst whose callers have given up would stay in memory until this client is as busy again. */
  #forgetGone(): void {
    if (this.#keepers.length > 0) this.#keepers = lineOf();
    if (this.#claimers.length > 0) this.#claimers = lineOf();
  }

  #admitNext(priority: Priority): void {
    const line = this.#lineOf(priority);
    while (this.#hasRoom(priority)) {
      const next = line.pop();
      if (next === undefined) return;
      if (!next.isGone) next.admit();
    }
  }

  #take(priority: Priority): void {
    this.#inFlight += 1;
    if (priority === "claim") this.#claims += 1;
  }

  #hasRoom(priority: Priority): boolean {
    const { most } = this;
    if (this.#inFlight >= most) return false;
    return priority === "keep" || this.#claims < Math.max(1, Math.floor(most * CLAIMS_PART));
  }

  #lineOf(priority: Priority): Line {
    return priority === "keep" ? this.#keepers : this.#claimers;
  }
}

/**
 * The turn of one claim, for all its sends. The claim leaves between two sends, so that a claim that DynamoDB does not
 * answer keeps no other claim from being sent.
 */
export class ClaimTurn {
  readonly #admission: Admission;
  readonly #priority: Priority;
  readonly #order: number;
  #isIn = false;

  constructor(admission: Admission, priority: Priority) {
    this.#admission = admission;
    this.#priority = priority;
    this.#order = admission.nextOrder();
  }

  get isIn(): boolean {
    return this.#isIn;
  }

  /** Takes the turn if the claim may be sent now. */
  tryEnter(): boolean {
    this.#isIn = this.#admission.tryEnter(this.#priority);
    return this.#isIn;
  }

  /** Waits for the turn. Resolves without the turn if the signal aborts first. */
  async enter(signal: SignalLike): Promise<void> {
    this.#isIn = await this.#admission.enter(this.#priority, signal, 0, this.#order);
  }

  /** Gives the turn back, if the claim has it. */
  leave(): void {
    if (!this.#isIn) return;
    this.#isIn = false;
    this.#admission.leave(this.#priority);
  }
}
