import { describe, expect, it } from "vitest";
import { firstOf } from "../../../../test/support/long.js";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import { election } from "../../src/election/index.js";
import {
  all,
  fairLock,
  type Holdfast,
  mutex,
  semaphore,
  sharedSession,
  writeLock,
} from "../../src/index.js";

// A client gives up an unanswered grant after half of the lease, and then frees the lock. It repeats an unanswered
// release as early.
const PART_OF_LEASE = 1 / 2;
// Retries, polls and the requests of the next waiter.
const SLACK_MS = 1_500;

interface Client {
  readonly leaseMs: number;
  readonly sharedSession?: ReturnType<typeof sharedSession>;
}

const CLIENTS: readonly Client[] = [
  { leaseMs: 5_000 },
  { leaseMs: 10_000, sharedSession: sharedSession() },
  { leaseMs: 10_000 },
];

interface Held {
  release(): Promise<unknown>;
}

type Acquire = (locks: Holdfast, leaseMs: number) => Promise<Held>;

const KINDS: Readonly<Record<string, Acquire>> = {
  mutex: (locks) => mutex(locks, "a").acquire({ wait: "10m" }),
  "fair lock": (locks) => fairLock(locks, "a").acquire({ wait: "10m" }),
  "lock of two names": (locks) => all(locks, ["a", "b"]).acquire({ wait: "10m" }),
  permit: (locks) => semaphore(locks, "a", { permits: 1 }).acquire({ wait: "10m" }),
  "write lock": (locks) => writeLock(locks, "a").acquire({ wait: "10m" }),
  leadership: async (locks, lease) => {
    const term = await election(locks, "a", { lease, poll: "500ms" }).campaign();
    return { release: () => term.release() };
  },
};

/** Measures for how long no process held a lock for which another process than the first waited. */
class Idleness {
  readonly #world: World;
  #holding = 0;
  #waiting = 0;
  #sinceMs: number | undefined;
  longestMs = 0;

  constructor(world: World) {
    this.#world = world;
  }

  change(change: { readonly holding?: number; readonly waiting?: number }): void {
    this.#holding += change.holding ?? 0;
    this.#waiting += change.waiting ?? 0;
    const { nowMs } = this.#world.time;
    const isIdle = this.#holding === 0 && this.#waiting > 0;
    if (this.#sinceMs !== undefined) {
      this.longestMs = Math.max(this.longestMs, nowMs - this.#sinceMs);
    }
    this.#sinceMs = isIdle ? (this.#sinceMs ?? nowMs) : undefined;
  }
}

/** Three processes take turns. The first gets no answer to its n-th write. Returns undefined if it sends fewer. */
async function longestIdleMs(
  acquire: Acquire,
  fault: "request-lost" | "response-lost",
  at: number,
  { leaseMs, ...options }: Client,
): Promise<number | undefined> {
  const world = new World();
  const idleness = new Idleness(world);
  const clients = [1, 2, 3].map(() => world.inhabitant({ lease: leaseMs, ...options }));
  const [first] = clients as [Inhabitant];
  let writes = 0;
  first.network.script(({ kind }) => {
    if (kind !== "write" && kind !== "transact") return undefined;
    writes += 1;
    return writes === at ? { fault } : undefined;
  });
  const turns = async (client: Inhabitant, index: number): Promise<void> => {
    const waiting = client === first ? 0 : 1;
    await world.time.sleep(50 * index);
    for (let turn = 0; turn < 3; turn += 1) {
      idleness.change({ waiting });
      const held = await acquire(client.locks, leaseMs);
      idleness.change({ waiting: -waiting, holding: 1 });
      await world.time.sleep(100);
      idleness.change({ holding: -1 });
      await held.release();
      await world.time.sleep(40);
    }
  };
  await world.until(Promise.all(clients.map(turns)));
  return writes < at ? undefined : idleness.longestMs;
}

// rule: R14, protocol 39
describe.each(["request-lost", "response-lost"] as const)("after one write (%s)", (fault) => {
  describe.each(firstOf(2, CLIENTS))("of a client with %j", (client) => {
    it.each(Object.keys(KINDS))("a %s is not idle for a whole lease", async (kind) => {
      const tooLong: Record<number, number> = {};
      for (let at = 1; ; at += 1) {
        const acquire = KINDS[kind] as Acquire;
        const idleMs = await longestIdleMs(acquire, fault, at, client);
        if (idleMs === undefined) break;
        if (idleMs > client.leaseMs * PART_OF_LEASE + SLACK_MS) tooLong[at] = idleMs;
      }
      expect(tooLong).toEqual({});
    });
  });
});
