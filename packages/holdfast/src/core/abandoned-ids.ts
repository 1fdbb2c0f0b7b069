import { IdMemory } from "../internal/id-memory.js";
import type { RecordRef } from "./record/format.js";
import { type Found, hasQueue } from "./record/record.js";

// At a thousand grants a second, the client remembers every id that can still matter for a lease.
const MOST_IDS = 100_000;

/** Remembers the ids of grants that no part of this process uses any more (R14). */
export class AbandonedIds {
  readonly #ids = new IdMemory(MOST_IDS);
  readonly #onSeen = new Map<string, () => void>();

  add(id: string): void {
    this.#ids.add(id);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Calls `onSeen` each time an answer shows that this id blocks a queue. Returns a function that ends the watch. */
  watch(id: string, onSeen: () => void): () => void {
    this.#onSeen.set(id, onSeen);
    return () => this.#onSeen.delete(id);
  }

  /** Notes an answer. A record without a queue needs no watch: the acquisition that sees the record takes it over. */
  see({ isEntry }: RecordRef, found: Found): void {
    if (found.state !== "held" || this.#onSeen.size === 0) return;
    if (isEntry !== true && !hasQueue(found)) return;
    this.#onSeen.get(found.holder)?.();
  }
}
