import { AsyncLocalStorage } from "node:async_hooks";

/**
 * A value for a call and whatever it starts. Node.js does nothing for it before the first `within`; Node.js 22 then makes
 * every promise of the process a little slower.
 */
export class AsyncContext<T> {
  #storage: AsyncLocalStorage<T> | undefined;

  /** The value in the calls of {@link within}, however deep, and in work that they have started. */
  get current(): T | undefined {
    return this.#storage?.getStore();
  }

  within<R>(value: T, call: () => R): R {
    this.#storage ??= new AsyncLocalStorage();
    return this.#storage.run(value, call);
  }
}
