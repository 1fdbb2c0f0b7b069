import type { Timed } from "./history.js";

/** The waiting acquisitions of a process for a name, and since when at least one has been waiting. */
interface Wish {
  readonly by: string;
  readonly name: string;
  waiting: number;
  sinceMs: number;
}

/** Waiters and hindered processes at one point of a history, which is read in order. */
export class Scene {
  readonly #wishes = new Map<string, Wish>();
  readonly #hindrances = new Map<string, { count: number; endedMs: number }>();

  /** Yields the unhindered waiters for a name, each with the start of its unhindered wait. */
  *ableWaiters(name: string): Iterable<{ readonly by: string; readonly sinceMs: number }> {
    for (const wish of this.#wishes.values()) {
      if (wish.name !== name || wish.waiting === 0) continue;
      const hindrance = this.#hindrances.get(wish.by);
      if (hindrance === undefined) yield wish;
      else if (hindrance.count === 0) {
        yield { by: wish.by, sinceMs: Math.max(wish.sinceMs, hindrance.endedMs) };
      }
    }
  }

  /** Since when a process is unhindered; undefined while it is hindered. */
  ableSinceMs(by: string): number | undefined {
    const hindrance = this.#hindrances.get(by);
    if (hindrance === undefined) return 0;
    return hindrance.count === 0 ? hindrance.endedMs : undefined;
  }

  /** The names which have had a waiter. */
  readonly wanted = new Set<string>();

  see(event: Timed): void {
    switch (event.kind) {
      case "waits":
        this.#wish(event.by, event.name, 1, event.atMs);
        return;
      case "granted":
      case "gave up":
        if (event.waited === true) this.#wish(event.by, event.name, -1, event.atMs);
        return;
      case "process":
        this.#happen(event.by, event.what, event.atMs);
    }
  }

  #wish(by: string, name: string, more: 1 | -1, atMs: number): void {
    const key = `${by} ${name}`;
    this.wanted.add(name);
    const wish = this.#wishes.get(key) ?? { by, name, waiting: 0, sinceMs: atMs };
    if (wish.waiting === 0) wish.sinceMs = atMs;
    wish.waiting += more;
    if (wish.waiting > 0) this.#wishes.set(key, wish);
    else this.#wishes.delete(key);
  }

  #happen(by: string, what: string, atMs: number): void {
    if (what === "killed") {
      for (const [key, wish] of this.#wishes) if (wish.by === by) this.#wishes.delete(key);
      this.#hindrances.set(by, { count: Number.POSITIVE_INFINITY, endedMs: atMs });
    }
    if (what !== "hindered" && what !== "free again") return;
    const hindrance = this.#hindrances.get(by) ?? { count: 0, endedMs: atMs };
    hindrance.count += what === "hindered" ? 1 : -1;
    hindrance.endedMs = atMs;
    this.#hindrances.set(by, hindrance);
  }
}
