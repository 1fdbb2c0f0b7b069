import type { RecordRef } from "../core/record/format.js";
import { JointAttempt } from "../core/acquire/grant-many.js";
import type { Kernel } from "../core/context.js";
import { Pacer } from "../core/pacer.js";
import type { Stopping } from "../core/acquire/cancellation.js";
import type { Trouble } from "../core/unavailable.js";
import { Abort, type SignalLike } from "../platform/abort.js";
import { Entry, entrySettings } from "../core/queue/entry.js";
import type { Together } from "./multi-acquire.js";

/**
 * One ticket in the queues of several names, with an entry in each: the same number everywhere, so that
 * of two waiters the same one is before the other wherever they meet. Once one of the entries is over,
 * the whole place is.
 */
export class JointPlace implements Stopping {
  readonly ticket: bigint;
  readonly #stop: Stopping;
  readonly #entries: readonly Entry[];
  readonly #abort = new Abort();

  private constructor(ticket: bigint, entries: readonly Entry[], stop: Stopping) {
    this.ticket = ticket;
    this.#stop = stop;
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
  static async take({ kernel, refs, settings, stop }: Together): Promise<JointPlace | undefined> {
    const { queue } = kernel.format;
    if (queue === undefined) return undefined;
    const own = entrySettings(settings);
    const pacer = new Pacer(kernel, settings);
    for (; ; await pacer.beforeNextRound(stop.signal)) {
      if (stop.isStopped) throw stop.error();
      const ticket = nextTicket(kernel, refs);
      const wallMs = kernel.wallMs();
      const asides = refs.map((ref) => {
        const fenceSeed = kernel.fenceSeed(ref);
        return { ref, write: queue.raise(ref, ticket, { fenceSeed, wallMs }) };
      });
      const places = refs.map((ref) => queue.entryOf(ref, ticket));
      const parts = places.map((ref) => ({ ref, ...NOTHING_THERE }));
      const begun = await new JointAttempt(kernel, parts, own, stop, asides).run();
      if (typeof begun === "object") {
        const entries = places.flatMap((ref, index) => {
          const beginning = begun[index];
          return beginning === undefined ? [] : [Entry.on(kernel, ref, ticket, beginning, stop)];
        });
        return new JointPlace(ticket, entries, stop);
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

  waits(heldBy: string | undefined): void {
    this.#stop.waits(heldBy);
  }

  told(): void {
    this.#stop.told();
  }

  troubled(trouble: Trouble): void {
    this.#stop.troubled(trouble);
  }

  error(): unknown {
    return (this.#entries.find((entry) => entry.isStopped) ?? this.#stop).error();
  }

  /** Leaves all the queues, by one deletion each, in the background. */
  leave(kernel: Kernel): void {
    this.end();
    for (const entry of this.#entries) entry.leave(kernel);
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
function nextTicket(kernel: Kernel, refs: readonly RecordRef[]): bigint {
  let highest = BigInt(Math.floor(kernel.wallMs()));
  for (const { id } of refs) {
    const record = kernel.observations.of(id)?.record;
    if (record === undefined || record.state === "absent") continue;
    const { tail, served } = record.queue;
    for (const seen of [tail, served]) {
      if (seen !== undefined && seen > highest) highest = seen;
    }
  }
  return highest + 1n;
}
