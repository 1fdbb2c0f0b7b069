import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

// The last promises may still reference a few.
const MOST_BY_CHANCE = 5;

/** Remembers released leases weakly, and finds the leases that a client keeps in memory. */
export class EndedLeases {
  readonly #signals: WeakRef<AbortSignal>[] = [];

  /** A hold references the signal of its lease, and the caller has forgotten the lease. */
  add(signal: AbortSignal): void {
    this.#signals.push(new WeakRef(signal));
  }

  /** Says what is left after a full garbage collection; undefined: as few as may be left by chance. */
  whatIsLeft(): string | undefined {
    collectGarbage();
    const left = this.#signals.filter((signal) => signal.deref() !== undefined).length;
    if (left <= MOST_BY_CHANCE) return undefined;
    return `${left} of ${this.#signals.length} released leases are still in memory`;
  }
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
}
