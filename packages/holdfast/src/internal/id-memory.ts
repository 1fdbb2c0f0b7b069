/** Remembers the most recent ids and forgets the oldest beyond a bound. */
export class IdMemory {
  readonly #ids = new Set<string>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  add(id: string): void {
    this.#ids.delete(id);
    this.#ids.add(id);
    if (this.#ids.size <= this.#most) return;
    const oldest = this.#ids.values().next();
    if (oldest.done === false) this.#ids.delete(oldest.value);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
