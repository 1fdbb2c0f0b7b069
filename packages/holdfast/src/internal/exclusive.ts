/** Runs tasks one after another, in the order of the calls. */
export class Exclusive {
  #last: Promise<unknown> = Promise.resolve();
  #pending = 0;

  /** How many tasks run or wait. */
  get pending(): number {
    return this.#pending;
  }

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task);
    const settled = (): void => {
      this.#pending -= 1;
    };
    this.#pending += 1;
    // The next task starts after success or failure alike; only the caller of the failed task sees the failure.
    this.#last = result.then(settled, settled);
    return result;
  }
}
