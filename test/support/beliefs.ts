import type { AcquireOptions, Lease } from "../../src/index.js";
import type { Inhabitant, World } from "./world.js";

interface Belief {
  readonly who: Inhabitant;
  readonly lease: Lease;
  readonly fromMs: number;
}

/**
 * Who believes to hold what, by true time: whatever a lease says of itself while its process runs. Two
 * leases overlap if and only if one believes at the instant at which the other begins, because a loss
 * is final; so that is where it is asked. A paused process believes nothing: nothing runs in it. Ask
 * {@link Beliefs.check} when it goes on.
 */
export class Beliefs {
  readonly #world: World;
  readonly #all: Belief[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Acquires, and notes the lease the instant it begins. */
  async acquire(who: Inhabitant, name: string, options: AcquireOptions = {}): Promise<Lease> {
    return this.add(who, await who.locks.mutex(name).acquire(options));
  }

  /** Notes a lease that has just begun. Throws if anybody else believes, or its fence is not higher. */
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
    throw new Error(`Two hold "${twice}" at ${this.#world.time.nowMs} ms: ${who.join(", ")}.`);
  }
}
