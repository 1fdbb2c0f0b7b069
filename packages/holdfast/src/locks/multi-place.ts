import type { Cancelling } from "../core/acquire/cancellation.js";
import type { AcquireContext } from "../core/acquire/context.js";
import type { Acquisition } from "../core/acquire/settings.js";
import { Pacer } from "../core/pacer.js";
import type { PermitPart } from "../core/permits/part.js";
import { Entry } from "../core/queue/entry.js";
import type { QueuePlace } from "../core/queue/place.js";
import { highestTicketSeen, placesAtOnce } from "../core/queue/place-at-once.js";
import type { RecordRef } from "../core/record/format.js";
import type { Unavailable } from "../core/unavailable.js";
import { Abort, type SignalLike } from "../platform/abort.js";

/** The acquisition of several locks. */
export interface MultiAcquire extends Acquisition {
  readonly refs: readonly RecordRef[];
  readonly onPlaceExpired: "requeue" | "fail";
  /** The permits among the locks, by the ids of their records. */
  readonly permits: ReadonlyMap<string, PermitPart>;
}

/**
 * A place in the queues of several names: the same ticket in each queue, with an entry in each. So two waiters have the
 * same order in all queues. The place ends when any of the entries ends.
 */
export class MultiPlace implements Cancelling {
  readonly ticket: bigint;
  readonly #together: MultiAcquire;
  readonly #places: readonly QueuePlace[];
  readonly #entries: readonly Entry[];
  /** The sessions that the caller has named for the permits. Without them, no permit can be granted. */
  readonly #sessions: readonly PermitPart["sessions"][];
  readonly #abort = new Abort();

  private constructor(ticket: bigint, places: readonly QueuePlace[], together: MultiAcquire) {
    const { cancellation, permits } = together;
    this.ticket = ticket;
    this.#together = together;
    this.#places = places;
    this.#entries = places.map((place) => new Entry(place, ticket, cancellation, together));
    this.#sessions = [...permits.values()].map(({ sessions }) => sessions);
    const entriesOver = this.#entries.map(({ signal }) => signal);
    for (const signal of [...entriesOver, ...this.#sessionsOver]) {
      signal.addEventListener("abort", this.end);
      if (signal.aborted) this.end();
    }
  }

  /**
   * Takes the next ticket that is free in all queues and creates the entries, in one transaction. Each attempt takes a
   * higher ticket than the attempt before: a refusal usually shows the ticket that another waiter took meanwhile, but after
   * the deletion of a record, an old entry can have a ticket that the record does not show. Resolves with undefined if
   * a single attempt is allowed and fails.
   */
  static async take(together: MultiAcquire): Promise<MultiPlace | undefined> {
    const { context, refs, settings, cancellation } = together;
    const pacer = new Pacer(context, settings);
    let tried = 0n;
    for (; ; await pacer.beforeNextRound(cancellation.signal)) {
      if (cancellation.isStopped) throw cancellation.error();
      const ticket = nextTicket(context, refs, tried);
      tried = ticket;
      const tickets = { first: ticket, last: ticket };
      const places = await placesAtOnce(together, refs, tickets, 0);
      if (places !== undefined) return new MultiPlace(ticket, places, together);
      if (settings.waitMs === 0) return undefined;
    }
  }

  get signal(): SignalLike {
    return this.#abort;
  }

  get isStopped(): boolean {
    return this.signal.aborted || this.#entries.some((entry) => entry.isStopped);
  }

  get waits(): boolean {
    return this.#together.cancellation.waits;
  }

  onWait(heldBy: string | undefined): void {
    // This client may have kept the lease of a use that was in progress when the wait began.
    const { cancellation, context, refs } = this.#together;
    for (const { id } of refs) void context.localQueues.yields(id);
    cancellation.onWait(heldBy);
  }

  // The first entry stands for all: reads of one table fail together.
  onResponse(): void {
    (this.#entries[0] ?? this.#together.cancellation).onResponse();
  }

  onNoResponse(unavailable: Unavailable): void {
    (this.#entries[0] ?? this.#together.cancellation).onNoResponse(unavailable);
  }

  /** Whether the place ended because this waiter could read nothing. */
  get isBlind(): boolean {
    return this.#entries[0]?.isBlind === true;
  }

  error(): unknown {
    const refusal = this.#sessions.map((session) => session.refusal()).find(Boolean);
    if (refusal !== undefined) return refusal;
    return (this.#entries.find((entry) => entry.isStopped) ?? this.#together.cancellation).error();
  }

  /** Leaves all queues, by one deletion each, in the background. */
  leave(): void {
    this.end();
    for (const entry of this.#entries) entry.dispose();
    for (const place of this.#places) place.leave();
    for (const signal of this.#sessionsOver) signal.removeEventListener("abort", this.end);
  }

  get #sessionsOver(): readonly SignalLike[] {
    return this.#sessions.flatMap(({ over }) => over ?? []);
  }

  /** Ends every wait with this place. */
  readonly end = (): void => this.#abort.abort();
}

/** The next ticket: above every ticket observed in the queues or tried before, and at least the wall clock time. */
function nextTicket(context: AcquireContext, refs: readonly RecordRef[], tried: bigint): bigint {
  const wallMs = BigInt(Math.floor(context.wallMs()));
  const seen = highestTicketSeen(context, refs) ?? wallMs;
  const highest = [wallMs, seen, tried].reduce((one, other) => (one > other ? one : other));
  return highest + 1n;
}
