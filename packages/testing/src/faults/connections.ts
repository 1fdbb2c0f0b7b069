/**
 * A pool of connections, as an HTTP client has: so many requests at once, the others wait in order. A request that
 * waits knows nothing of the order in which its client needs the answers.
 */
export class Connections {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #used = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** How many requests wait for a connection. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Calls `send` when there is a connection, perhaps at once. The result ends the request: it gives back the connection,
   * or ends the wait for one.
   */
  use(send: () => void): () => void {
    let hasOne = false;
    const begin = (): void => {
      hasOne = true;
      this.#used += 1;
      send();
    };
    if (this.#used < this.#most) begin();
    else this.#waiting.add(begin);
    return () => {
      if (!hasOne) {
        this.#waiting.delete(begin);
        return;
      }
      this.#used -= 1;
      const [next] = this.#waiting;
      if (next === undefined) return;
      this.#waiting.delete(next);
      next();
    };
  }
}
