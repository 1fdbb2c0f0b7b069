/** Runs a task once for all callers that ask under the same key while the task runs. */
export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  run(key: string, task: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const started = task();
    const forget = (): void => {
      this.#running.delete(key);
    };
    this.#running.set(key, started);
    started.then(forget, forget);
    return started;
  }
}
