import type { Cancelling } from "../core/acquire/cancellation.js";
import type { AcquireContext } from "../core/acquire/context.js";
import { GrantManyWrite } from "../core/acquire/grant-many.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import { Pacer } from "../core/pacer.js";
import { Entry, entrySettings } from "../core/queue/entry.js";
import type { RecordRef } from "../core/record/format.js";
import type { Unavailable } from "../core/unavailable.js";
import { Abort, type SignalLike } from "../platform/abort.js";

/** One acquisition of several locks. */
export interface MultiAcquire {
  readonly context: AcquireContext;
  readonly refs: readonly RecordRef[];
  readonly settings: AcquireSettings;
  readonly cancellation: Cancelling;
  readonly onPlaceExpired: "requeue" | "fail";
}

/**
 * One ticket in the queues of several names, with an entry in each: the same number everywhere, so that
 * of two waiters the same one is before the other wherever they meet. Once one of the entries is over,
 * the whole place is.
 */
export class MultiPlace implements Cancelling {
  readonly ticket: bigint;
  readonly #cancellation: Cancelling;
  readonly #entries: readonly Entry[];
  readonly #abort = new Abort();

  private constructor(ticket: bigint, entries: readonly Entry[], cancellation: Cancelling) {
    this.ticket = ticket;
    this.#cancellation = cancellation;
    this.#entries = entries;
    for (const { signal } of entries) {
      signal.addEventListener("abort", this.end);
      if (signal.aborted) this.end();
    }
  }

  /**
   * Takes the next number that is free in all the queues, and puts the entries there, by one transaction.
   * Refused, some number was given out meanwhile, and was shown: it takes another one. Undefined where
   * it may not try again.
   */
  static async take({
    context,
    refs,
    settings,
    cancellation,
  }: MultiAcquire): Promise<MultiPlace | undefined> {
    const { queue } = context.format;
    if (queue === undefined) return undefined;
    const own = entrySettings(settings);
    const pacer = new Pacer(context, settings);
    for (; ; await pacer.beforeNextRound(cancellation.signal)) {
      if (cancellation.isStopped) throw cancellation.error();
      const ticket = nextTicket(context, refs);
      const wallMs = context.wallMs();
      const asides = refs.map((ref) => {
        const fenceSeed = context.fenceSeed(ref);
        return { ref, write: queue.raise(ref, ticket, { fenceSeed, wallMs }) };
      });
      const places = refs.map((ref) => queue.entryOf(ref, ticket));
      const parts = places.map((ref) => ({ ref, ...NOTHING_THERE }));
      const begun = await new GrantManyWrite(context, parts, own, cancellation, asides).run();
      if (typeof begun === "object") {
        const entries = places.flatMap((ref, index) => {
          const beginning = begun[index];
          return beginning === undefined
            ? []
            : [Entry.on(context, ref, ticket, beginning, cancellation)];
        });
        return new MultiPlace(ticket, entries, cancellation);
      }
      if (settings.waitMs === 0) return undefined;
    }
  }

  get signal(): SignalLike {
    return this.#abort;
  }

  get isStopped(): boolean {
    return this.signal.aborted || this.#entries.some((entry) => entry.isStopped);
  }

  onWait(heldBy: string | undefined): void {
    this.#cancellation.onWait(heldBy);
  }

  onResponse(): void {
    this.#cancellation.onResponse();
  }

  onNoResponse(trouble: Unavailable): void {
    this.#cancellation.onNoResponse(trouble);
  }

  error(): unknown {
    return (this.#entries.find((entry) => entry.isStopped) ?? this.#cancellation).error();
  }

  /** Leaves all the queues, by one deletion each, in the background. */
  leave(context: AcquireContext): void {
    this.end();
    for (const entry of this.#entries) entry.leave(context);
  }

  /** Ends all that waits in the queues. */
  readonly end = (): void => this.#abort.abort();
}

const NOTHING_THERE = {
  before: { state: "absent" },
  decision: { kind: "claim", onto: { kind: "absent" } },
} as const;

/**
 * Above every number that was seen to be given out or granted in any of the queues; time where none was. A counter
 * that was deleted with its record starts again, and may lie below the last ticket granted.
 */
function nextTicket(context: AcquireContext, refs: readonly RecordRef[]): bigint {
  let highest = BigInt(Math.floor(context.wallMs()));
  for (const { id } of refs) {
    const record = context.observations.of(id)?.record;
    if (record === undefined || record.state === "absent") continue;
    const { tail, served } = record.queue;
    for (const seen of [tail, served]) {
      if (seen !== undefined && seen > highest) highest = seen;
    }
  }
  return highest + 1n;
}
