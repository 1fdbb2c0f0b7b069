import { setTimeout as wait } from "node:timers/promises";
import { Holdfast, type HoldfastOptions } from "../../src/index.js";

/** Waits. Rejects if the run is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}

/** Awaits the work. Rejects with the abort reason if the run is aborted first. */
export async function unlessEnded<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const over = new AbortController();
  const ended = new Promise<never>((_, reject) => {
    const end = (): void => reject(signal.reason as Error);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true, signal: over.signal });
  });
  try {
    return await Promise.race([work, ended]);
  } finally {
    over.abort();
  }
}

/** The value or the error of an attempt. */
export type Ended<T> = { readonly value: T } | { readonly error: Error };

export async function ended<T>(work: Promise<T>): Promise<Ended<T>> {
  return work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error: error instanceof Error ? error : new Error(String(error)) }),
  );
}

/** The code of a Holdfast error, or the name of an SDK error. */
export function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === "string" ? code : String(name);
}

/** Clients for locks, closed together. Background errors are ignored: each step checks its own requests. */
export class Clients {
  readonly #made: Holdfast[] = [];

  make(options: HoldfastOptions): Holdfast {
    const made = new Holdfast({ closeTimeout: "2s", onError: () => undefined, ...options });
    this.#made.push(made);
    return made;
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#made.splice(0).map((locks) => locks.close()));
  }
}
