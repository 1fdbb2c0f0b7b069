import { type SeededRandom, seededRandom } from "../../../src/testing/time/seeded-random.js";
import { crowdOf, type Plan, quietOf, withDates } from "../plan.js";
import type { World, WorldKind } from "./traits.js";

const KINDS: readonly WorldKind[] = [
  ...(["world", "world", "world", "world", "late world", "late world"] as const),
  ...(["calm world", "crashing world", "cloned world", "tampered world"] as const),
];

// And long holds, so that a request meets a holder that acts after it. A `late world` is as short as its leases, and a
// `tampered world` checks no holder.
const FORCED_RELEASES_IN: readonly WorldKind[] = [
  ...(["world", "cloned world", "calm world", "crashing world"] as const),
];

const MANY_NAMES = [..."abcdefghijkl"];
const LONG_LEASE_MS = 60_000;

/** Draws the plan of a run of the world; `given`: the kind of the run, if the seed is not to decide it. */
export function worldPlanOf(seed: number, lengthMs: number, given?: WorldKind): Plan {
  const random = seededRandom(seed);
  const drawn = KINDS[random.integer(0, KINDS.length - 1)] ?? "world";
  const kind = given ?? drawn;
  const crowd = crowdOf(seed, random, lengthMs);
  const isQuiet = ["calm world", "crashing world", "late world"].includes(kind);
  const plan = isQuiet ? quietOf(crowd) : crowd;
  const shortest = random.integer(1_000, 3_000);
  return withDates({
    ...plan,
    kind,
    pace: 1,
    names: random.chance(0.5) ? ["a", "b"] : ["a", "b", "c"],
    processes: random.integer(2, 4),
    workersPerProcess: random.integer(2, 5),
    sessions: random.chance(0.6) ? 0.6 : 0,
    leaseMs: [shortest, isQuiet ? shortest : shortest + random.integer(0, 1_000)],
    poll: { min: 20, max: 400 },
    requestTimeoutMs: 1_000,
    mishapEveryMs: random.integer(2_000, 12_000),
    behaviour: {
      ...plan.behaviour,
      // Without faults, a process closes its session only after all leases on the session.
      closesInUse: isQuiet ? 0 : 0.3,
      byHand: isQuiet ? 0 : 0.15,
      forgets: 0,
      holdsLong: 0.1,
      longHoldMs: (FORCED_RELEASES_IN.includes(kind) ? 10 : 4) * shortest,
      shortHoldMs: 300,
      longestRestMs: 300,
    },
    ...(kind === "late world" ? lateness(random) : {}),
    // A new fence begins at its creator's clock, which is behind the old fence only if a clock is wrong.
    ...(kind === "tampered world" ? { drift: 0, wallOffsetMs: 0 } : {}),
    world: worldOf(random, kind),
  });
}

function lateness(random: SeededRandom): Partial<Plan> {
  const chance = (): number => 0.04 * random.fraction();
  return {
    leaseMs: [LONG_LEASE_MS, LONG_LEASE_MS],
    // One process alone has no rivals in a queue, so that a wait for a former grant of its own shows. Only the first
    // claim of a name is blind, so that a late copy may be granted.
    ...(random.chance(0.5)
      ? { processes: 1, workersPerProcess: 6, names: MANY_NAMES }
      : { processes: random.integer(2, 3) }),
    faults: {
      faults: {
        "request-lost": chance(),
        "response-lost": chance(),
        "response-lost-and-retried": chance(),
        "applied-late": chance(),
        duplicated: 2 * chance(),
        reordered: chance(),
      },
      longestDelayMs: 4_000,
    },
  };
}

function worldOf(random: SeededRandom, kind: WorldKind): World {
  const isWild = kind === "world" || kind === "cloned world";
  const sometimes = (weight: number): number => (random.chance(0.75) ? weight : 0);
  return {
    weights: {
      mutex: 4,
      fairLock: sometimes(3),
      multiLock: sometimes(2),
      semaphore: sometimes(1),
      readWriteLock: sometimes(1),
      import: sometimes(3),
      forcedRelease: FORCED_RELEASES_IN.includes(kind) ? sometimes(0.5) : 0,
      election: sometimes(1),
      resignRequest: sometimes(0.5),
      once: sometimes(1),
    },
    permits: random.integer(1, 4),
    exports: random.chance(0.7) ? 0.4 : 0,
    reservesLong: isWild && random.chance(0.4) ? 0.3 : 0,
    greed: random.chance(0.5) ? 0 : 0.6,
    slow: random.chance(0.5) ? 0 : 0.5,
    areCopies: kind === "cloned world",
    isTampered: kind === "tampered world",
  };
}
