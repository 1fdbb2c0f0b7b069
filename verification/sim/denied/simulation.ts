import {
  adoptLease,
  all,
  downgrade,
  exportLease,
  fairLock,
  type Holdfast,
  HoldfastError,
  isHoldfastError,
  mutex,
  openSession,
  type Session,
  semaphore,
  sharedSession,
  writeLock,
} from "../../../packages/holdfast/src/index.js";
import type { Fault } from "../../../packages/testing/src/faults/fault-plan.js";
import type { SeededRandom } from "../../../packages/testing/src/time/seeded-random.js";
import { type Machine, Site } from "../machine.js";
import { orphans } from "./checkers.js";

const LEASE_MS = 10_000;
const LENGTH_MS = 120_000;
const PROCESSES = 3;
const WORKERS = 3;
// Each write is refused, or its request or its answer is lost, in so many of its sends.
const FAULTS = { denied: 0.04, "request-lost": 0.04, "response-lost": 0.04 } as const;
const DENIED = new HoldfastError("access-denied", "Not authorized to perform dynamodb:UpdateItem.");

/** A lease or a permit that a process may count as held. */
interface Held {
  readonly holder?: string;
  /** Of a lease of several locks: the holder of each. */
  readonly holders?: ReadonlyMap<string, string>;
  readonly isHeld: boolean;
  release(): Promise<void>;
}

/** The result of one run. */
export interface DeniedOutcome {
  /** What names a live session without a believing holder, four leases after the last fault. */
  readonly violations: readonly string[];
  readonly uses: number;
  readonly denied: number;
}

/** A process whose writes are sometimes answered with a wrong configuration. Its session lives on to the end. */
class Process {
  readonly held = new Set<Held>();
  uses = 0;
  denied = 0;
  readonly #machine: Machine;
  readonly #site: Site;
  readonly #random: SeededRandom;
  #isOver = false;
  #session: Session | undefined;

  constructor(site: Site) {
    const random = site.random.fork();
    this.#site = site;
    this.#random = random;
    this.#machine = site.start({
      random,
      latencyMs: () => 5,
      client: {
        ...{ lease: LEASE_MS, requestTimeout: 1_000 },
        sharedSession: random.chance(0.5) && sharedSession(),
      },
    });
  }

  get #locks(): Holdfast {
    return this.#machine.locks;
  }

  /** Opens the sessions, and takes a permit that keeps the client's own session open. */
  async begin(name: string): Promise<void> {
    this.#session = await openSession(this.#locks, { lease: LEASE_MS });
    this.held.add(await semaphore(this.#locks, name, { permits: 1 }).acquire());
    this.#machine.network.script(({ kind }) =>
      kind === "write" || kind === "transact" ? this.#fault() : undefined,
    );
  }

  /** Uses the names until the end of the faults. */
  async work(): Promise<void> {
    while (!this.#isOver) {
      this.uses += 1;
      try {
        await this.#use();
      } catch (error) {
        if (!isHoldfastError(error)) throw error;
      }
      await this.#site.time.sleep(this.#random.integer(50, 500));
    }
  }

  end(): void {
    this.#isOver = true;
    this.#machine.network.script(() => undefined);
  }

  #fault(): Fault | undefined {
    const drawn = this.#random.fraction();
    if (drawn < FAULTS.denied) {
      this.denied += 1;
      return { fault: "misconfigured", error: DENIED };
    }
    if (drawn < FAULTS.denied + FAULTS["request-lost"]) return { fault: "request-lost" };
    const all = FAULTS.denied + FAULTS["request-lost"] + FAULTS["response-lost"];
    return drawn < all ? { fault: "response-lost" } : undefined;
  }

  async #use(): Promise<void> {
    const locks = this.#locks;
    const session = this.#session?.isHeld === true ? this.#session : undefined;
    const name = this.#random.chance(0.5) ? "x" : "y";
    const wait = this.#random.integer(1, 2) * LEASE_MS;
    switch (this.#random.integer(1, 8)) {
      case 1:
        return this.#hold(await mutex(locks, name).acquire({ wait }));
      case 2:
        return this.#hold(await fairLock(locks, name).acquire({ wait }));
      case 3:
        return this.#hold(await fairLock(locks, name, { session }).acquire({ wait }));
      case 4:
        return this.#hold(await all(locks, ["x", "y"], { session }).acquire({ wait }));
      case 5:
        return this.#hold(
          await semaphore(locks, name, { permits: 3 }).acquire({ weight: 2, wait }),
        );
      case 6: {
        const writer = await writeLock(locks, name).acquire({ wait });
        this.held.add(writer);
        await this.#site.time.sleep(this.#random.integer(0, 1_000));
        return this.#hold(await downgrade(writer));
      }
      case 7: {
        const lease = await mutex(locks, name).acquire({ wait, lease: "5s" });
        this.held.add(lease);
        const transfer = await exportLease(lease);
        return this.#hold(await adoptLease(locks, transfer));
      }
      default: {
        const lease = await mutex(locks, name).acquire({ wait, lease: LEASE_MS });
        this.held.add(lease);
        await lease.renew({ lease: 2 * LEASE_MS }).catch(() => undefined);
        return this.#hold(lease);
      }
    }
  }

  async #hold(held: Held): Promise<void> {
    this.held.add(held);
    // Longer than the period of renewals, so that a lease moves to its session.
    await this.#site.time.sleep(this.#random.integer(0, 6_000));
    await held.release();
  }
}

/**
 * Runs processes whose sessions live on while some of their writes are answered with a wrong configuration, and some
 * are lost. In the end, no record may name a live session without a believing holder.
 */
export async function simulateDenied(seed: number): Promise<DeniedOutcome> {
  const site = new Site(seed, { tellsDate: true });
  site.tellDates();
  const { time, table } = site;
  const all = Array.from({ length: PROCESSES }, () => new Process(site));
  await time.runUntil(Promise.all(all.map((one, at) => one.begin(`kept ${at}`))));
  const work = all.flatMap((one) => Array.from({ length: WORKERS }, () => one.work()));
  await time.advance(LENGTH_MS);
  for (const one of all) one.end();
  await time.runUntil(Promise.all(work), { limitMs: 20 * LEASE_MS });
  await time.advance(4 * LEASE_MS);
  const believed = all.flatMap(({ held }) => [...held].filter(({ isHeld }) => isHeld));
  const ids = new Set(
    believed.flatMap(({ holder = [], holders = new Map() }) =>
      [...holders.values(), holder].flat(),
    ),
  );
  const left = orphans(table.items(), ids, time.wallMs);
  return {
    violations: left.map(({ key, holder }) => `${key} still names ${holder}`),
    uses: all.reduce((sum, { uses }) => sum + uses, 0),
    denied: all.reduce((sum, { denied }) => sum + denied, 0),
  };
}
