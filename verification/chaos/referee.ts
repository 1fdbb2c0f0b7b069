import type { Duplex } from "node:stream";
import type { Event } from "../sim/history.js";
import type { FromWorker } from "./messages.js";
import type { Span } from "./order.js";

/** What happened, without who did it. */
export type Told = Event extends infer E ? (E extends Event ? Omit<E, "by"> : never) : never;

/**
 * The one process that stamps. It counts up with every message of a worker and every request and
 * answer of the table; see `order.ts` for what its stamps prove.
 */
export class Referee {
  readonly spans: Span[] = [];
  /** What is wrong on its face, without any order. */
  readonly failures: { readonly atMs: number; readonly what: string }[] = [];
  /** How many questions were answered with no: a holder that noticed in time. */
  askedTooLate = 0;
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

  /** Notes what happened at some instant since the stamp `from` was given. */
  note(by: string, told: Told, from?: number): void {
    const to = this.stamp();
    this.spans.push({ from: from ?? to, to, atMs: this.nowMs, event: { ...told, by } as Event });
  }

  /** From now on whatever breaks was broken off. */
  close(): void {
    this.#isClosed = true;
  }

  /** Whether this worker was handed a lease, and has not told that it ended. */
  isHolder(by: string): boolean {
    return (this.#holding.get(by)?.size ?? 0) > 0;
  }

  fail(what: string): void {
    if (!this.#isClosed) this.failures.push({ atMs: this.nowMs, what });
  }

  /** Listens to a worker until it ends. Resolves when it is ready; never, if it ends before. */
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
        } else this.#told(by, message);
      }
    });
    // A worker that is killed breaks it off, as it may.
    line.on("error", () => line.destroy());
    return ready;
  }

  #asked(
    by: string,
    { name, fence, isHeld, isFirst }: Extract<FromWorker, { kind: "asked" }>,
    { stamp, atMs }: { readonly stamp: number; readonly atMs: number },
  ): void {
    if (!isHeld) {
      this.askedTooLate += 1;
      return;
    }
    const kind = isFirst ? "granted" : "acted";
    const event: Event = { kind, by, name, fence: BigInt(fence) };
    this.spans.push({ from: stamp, to: stamp, atMs, event });
    if (isFirst) this.#holding.set(by, new Set(this.#holding.get(by)).add(fence));
  }

  #told(by: string, message: Exclude<FromWorker, { kind: "ready" | "asks" | "asked" }>): void {
    if (message.kind === "failed") this.fail(`${by}: ${message.what}`);
    else if (message.kind === "gave up") this.note(by, message);
    else {
      this.#holding.get(by)?.delete(message.fence);
      this.note(by, { ...message, fence: BigInt(message.fence) } as Told);
    }
  }
}
