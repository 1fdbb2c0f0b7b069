/** Runs tasks one after another, in the order in which they came. */
export class Exclusive {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task);
    // The next task starts after this one whether it failed or not; its failure is its caller's.
    this.#last = result.catch(() => undefined);
    return result;
  }
}
