import { isHoldfastError, semaphore } from "../../../packages/holdfast/src/index.js";
import type { Incarnation } from "../incarnation.js";

/**
 * Keeps a process's own session open to the end of the checks, by a permit of a semaphore of its own: only then a record
 * that the process left behind on its session shows, because it is never free.
 */
export class KeptSession {
  readonly #self: Incarnation;
  readonly #end = new AbortController();
  readonly #work: Promise<void>;
  /** The holder id of the permit. */
  holder: string | undefined;

  constructor(self: Incarnation) {
    this.#self = self;
    this.#work = this.#keep();
    this.#work.catch((error: unknown) => self.run.fail("unexpected error", String(error)));
  }

  /** Gives the permit back; the client closes its session a lease later. */
  end(): Promise<void> {
    this.#end.abort();
    return this.#work;
  }

  async #keep(): Promise<void> {
    const { locks, name } = this.#self;
    const { signal } = this.#end;
    const own = semaphore(locks, `kept ${name}`, { permits: 1 });
    while (!signal.aborted) {
      try {
        this.#self.asked();
        const permit = await own.acquire({ wait: "1h", signal });
        this.holder = permit.holder;
        while (permit.isHeld && !signal.aborted) await this.#self.sleep(200);
        this.#self.asked();
        await permit.release();
      } catch (error) {
        if (!isHoldfastError(error) && !signal.aborted) throw error;
        if (isHoldfastError(error, "closed")) return;
      }
    }
  }
}
