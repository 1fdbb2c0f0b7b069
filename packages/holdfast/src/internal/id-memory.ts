import { LinkedList } from "./linked-list.js";

/** Remembers the most recent ids and forgets the oldest beyond a bound. */
export class IdMemory {
  // Not a Set alone: to find its first id, it skips the places of all that were deleted before.
  readonly #ids = new LinkedList<string>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  add(id: string): void {
    this.#ids.delete(id);
    this.#ids.addLast(id);
    if (this.#ids.size > this.#most) this.#ids.shift();
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
