/** Runs tasks one after another, in the order of the calls. */
export class Exclusive {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task);
    // The next task starts after success or failure alike; only the caller of the failed task sees the failure.
    this.#last = result.catch(() => undefined);
    return result;
  }
}
