import type { Duplex } from "node:stream";
import type { Attempt } from "../histories/operations.js";
import type { Event } from "../sim/history.js";
import type { QueueEvent } from "./first-in-queue.js";
import type { FromWorker } from "./messages.js";
import type { Span } from "./order.js";
import type { PermitSighting, SeenSemaphore } from "./permit-sightings.js";

/** An event without the process. */
export type Observed = Event extends infer E ? (E extends Event ? Omit<E, "by"> : never) : never;

/**
 * The one process which assigns stamps. It counts up with every message of a worker and every request and answer of
 * the table; `order.ts` says what stamps prove.
 */
export class Referee {
  readonly spans: Span[] = [];
  /** The checks of permits, and the records of semaphores. */
  readonly sightings: PermitSighting[] = [];
  /** Failures which need no order to be proved. */
  readonly failures: { readonly atMs: number; readonly what: string }[] = [];
  /** All writes on condition of a lease that reached the witness, answered or not, by entry. */
  readonly attempts = new Map<string, Attempt>();
  /** How many checks answered no: the holder noticed in time. */
  askedTooLate = 0;
  readonly #waiters = new Map<string, string>();
  readonly #holding = new Map<string, Set<string>>();
  #stamps = 0;
  #isClosed = false;
  readonly #startMs = performance.now();

  get nowMs(): number {
    return performance.now() - this.#startMs;
  }

  stamp(): number {
    this.#stamps += 1;
    return this.#stamps;
  }

  /** Records an event which happened after the stamp `from`. */
  note(by: string, observed: Observed, from?: number): void {
    const to = this.stamp();
    this.spans.push({
      from: from ?? to,
      to,
      atMs: this.nowMs,
      event: { ...observed, by } as Event,
    });
  }

  /** Records the state of a semaphore in an answer to a request that arrived after the stamp `from`. */
  noteSemaphore(seen: SeenSemaphore, from: number): void {
    this.sightings.push({ kind: "record", ...seen, from, to: this.stamp(), atMs: this.nowMs });
  }

  /** Records a write to a place in a queue. The first write is of the waiter; another process may remove the place. */
  notePlace(ticket: string, sender: string, isThere: boolean): void {
    const by = this.#waiters.get(ticket) ?? sender;
    this.#waiters.set(ticket, by);
    this.#noteQueue({ kind: "place", by, ticket, isThere });
  }

  /** Records a fault of a process, and how long it lasts. */
  noteHindered(by: string, forMs: number): void {
    this.#noteQueue({ kind: "hindered", by, untilMs: this.nowMs + forMs });
  }

  #noteQueue(what: QueueEvent): void {
    const stamp = this.stamp();
    this.sightings.push({ ...what, from: stamp, to: stamp, atMs: this.nowMs });
  }

  /** Ignores broken connections from now on: the run is ending. */
  close(): void {
    this.#isClosed = true;
  }

  /** Whether this worker has received a lease, and has not reported its end. */
  isHolder(by: string): boolean {
    return (this.#holding.get(by)?.size ?? 0) > 0;
  }

  fail(what: string): void {
    if (!this.#isClosed) this.failures.push({ atMs: this.nowMs, what });
  }

  /** Listens to a worker until it ends. Resolves when the worker is ready; never, if it ends before. */
  listenTo(by: string, line: Duplex): Promise<void> {
    let isReady: () => void = () => undefined;
    const ready = new Promise<void>((resolve) => {
      isReady = resolve;
    });
    let unfinished = "";
    let asked: { readonly stamp: number; readonly atMs: number } | undefined;
    line.on("data", (chunk) => {
      const lines = `${unfinished}${chunk}`.split("\n");
      unfinished = lines.pop() ?? "";
      for (const text of lines) {
        const message = JSON.parse(text) as FromWorker;
        if (message.kind === "ready") isReady();
        else if (message.kind === "asks") {
          asked = { stamp: this.stamp(), atMs: this.nowMs };
          line.write(".");
        } else if (message.kind === "asked") {
          if (asked === undefined) throw new Error(`${by} did not wait for a stamp.`);
          this.#asked(by, message, asked);
        } else this.#received(by, message);
      }
    });
    // A killed worker may break its connection.
    line.on("error", () => line.destroy());
    return ready;
  }

  #asked(
    by: string,
    { name, fence, isHeld, isFirst, weight }: Extract<FromWorker, { kind: "asked" }>,
    { stamp, atMs }: { readonly stamp: number; readonly atMs: number },
  ): void {
    if (!isHeld) {
      this.askedTooLate += 1;
      return;
    }
    const kind = isFirst ? "granted" : "acted";
    const event: Event = { kind, by, name, fence: BigInt(fence) };
    this.spans.push({ from: stamp, to: stamp, atMs, event });
    if (weight !== undefined) {
      const held = { kind: "held", by, name, fence: BigInt(fence), weight } as const;
      this.sightings.push({ ...held, from: stamp, to: stamp, atMs });
    }
    if (isFirst) this.#holding.set(by, new Set(this.#holding.get(by)).add(fence));
  }

  #received(by: string, message: Exclude<FromWorker, { kind: "ready" | "asks" | "asked" }>): void {
    if (message.kind === "failed") this.fail(`${by}: ${message.what}`);
    else if (message.kind === "gave up" || message.kind === "waits") this.note(by, message);
    else {
      this.#holding.get(by)?.delete(message.fence);
      this.note(by, { ...message, fence: BigInt(message.fence) } as Observed);
    }
  }
}
