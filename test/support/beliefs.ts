import { type AcquireOptions, type Lease, mutex } from "../../packages/holdfast/src/index.js";
import type { Inhabitant, World } from "./world.js";

interface Belief {
  readonly who: Inhabitant;
  readonly lease: Lease;
  readonly fromMs: number;
}

/**
 * Tracks the held leases, by true time. Two leases overlap exactly if the first is held at the instant when the
 * second begins, because a loss is final; so the check runs at this instant. A paused process holds nothing,
 * because no code runs. Call {@link Beliefs.check} when the process resumes.
 */
export class Beliefs {
  readonly #world: World;
  readonly #all: Belief[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Acquires, and records the new lease at once. */
  async acquire(who: Inhabitant, name: string, options: AcquireOptions = {}): Promise<Lease> {
    return this.add(who, await mutex(who.locks, name).acquire(options));
  }

  /** Records a new lease. Throws if another lease is still held, or if the fence is not higher. */
  add(who: Inhabitant, lease: Lease): Lease {
    this.#all.push({ who, lease, fromMs: this.#world.time.nowMs });
    this.check();
    const earlier = this.#all.slice(0, -1).filter((belief) => belief.lease.name === lease.name);
    const higher = earlier.find((belief) => belief.lease.fence >= lease.fence);
    if (higher !== undefined) {
      throw new Error(`Fence ${lease.fence} was granted after ${higher.lease.fence}.`);
    }
    return lease;
  }

  /** Throws if two leases of one name are held now. */
  check(): void {
    const believing = this.#all.filter(
      ({ who, lease }) => who.process.state === "running" && lease.isHeld,
    );
    const names = believing.map(({ lease }) => lease.name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice === undefined) return;
    const who = believing.map(({ lease, fromMs }) => `${lease.holder} since ${fromMs} ms`);
    throw new Error(
      `Two holders of "${twice}" at ${this.#world.time.nowMs} ms: ${who.join(", ")}.`,
    );
  }
}
