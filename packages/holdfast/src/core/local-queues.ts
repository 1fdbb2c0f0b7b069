import type { Timers } from "../platform/timers.js";
import { LocalQueue } from "./local-queue.js";

/** The local queues of one client: created for the first waiter of a name, deleted when idle. */
export class LocalQueues<Settings, Granted> {
  readonly #localQueues = new Map<string, LocalQueue<Settings, Granted>>();
  readonly #timers: Timers;
  readonly #isShared: boolean;

  /** With `isShared` false, every acquisition gets a queue of its own and never waits for another. */
  constructor(timers: Timers, isShared = true) {
    this.#timers = timers;
    this.#isShared = isShared;
  }

  /** Creates a queue for a single acquisition. `id`: of the name, whose own queue may have waiters. */
  alone(id?: string): LocalQueue<Settings, Granted> {
    const isWantedBeside = () => id !== undefined && this.isBusy(id);
    return new LocalQueue(this.#timers, () => undefined, isWantedBeside);
  }

  /** Whether this process holds the name, contends for it, or hands it off. */
  isBusy(id: string): boolean {
    return this.#localQueues.get(id)?.isBusy === true;
  }

  /** As {@link LocalQueue.yields}. */
  yields(id: string): Promise<void> | undefined {
    return this.#localQueues.get(id)?.yields();
  }

  /** Returns the queue of a name. The caller enters it or waits in it at once: a queue is only deleted when idle. */
  of(id: string): LocalQueue<Settings, Granted> {
    if (!this.#isShared) return this.alone();
    const known = this.#localQueues.get(id);
    if (known !== undefined) return known;
    const localQueue = new LocalQueue<Settings, Granted>(this.#timers, () =>
      this.#localQueues.delete(id),
    );
    this.#localQueues.set(id, localQueue);
    return localQueue;
  }
}
