import {
  type SeededRandom,
  seededRandom,
} from "../../../packages/testing/src/time/seeded-random.js";
import { crowdOf, type Plan, quietOf, withDates } from "../plan.js";
import type { OperationName, World, WorldKind } from "./traits.js";

const KINDS: readonly WorldKind[] = [
  ...(["world", "world", "world", "world", "late world", "late world"] as const),
  ...(["calm world", "crashing world", "cloned world", "aged world"] as const),
  "tampered world",
];

const WILD_KINDS: readonly WorldKind[] = ["world", "cloned world", "aged world"];
const QUIET_KINDS: readonly WorldKind[] = ["calm world", "crashing world", "late world"];

// These runs also have long holds, so that a holder may act after a request to release. A `late world` is as short as its leases, and a
// `tampered world` checks no holder.
const FORCED_RELEASES_IN: readonly WorldKind[] = [
  ...(["world", "cloned world", "aged world", "calm world", "crashing world"] as const),
];

const MANY_NAMES = [..."abcdefghijkl"];
const LONG_LEASE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;

/** Draws the plan of a run of the world; `given`: the kind of the run, if the seed is not to decide it. */
export function worldPlanOf(seed: number, lengthMs: number, given?: WorldKind): Plan {
  const random = seededRandom(seed);
  const drawn = KINDS[random.integer(0, KINDS.length - 1)] ?? "world";
  const kind = given ?? drawn;
  const crowd = crowdOf(seed, random, lengthMs);
  const isQuiet = QUIET_KINDS.includes(kind);
  const plan = isQuiet ? quietOf(crowd) : crowd;
  const hasCoarseClocks = WILD_KINDS.includes(kind) && random.chance(0.5);
  // Then an answer within the timeout may be too slow for the lease.
  const answersSlowly = WILD_KINDS.includes(kind) && !hasCoarseClocks && random.chance(0.3);
  // Such a client refuses a lease of less than five steps.
  const shortest = hasCoarseClocks ? 7_500 : random.integer(1_000, 3_000);
  return withDates({
    ...plan,
    kind,
    pace: 1,
    names: answersSlowly ? MANY_NAMES : namesOf(random, kind),
    processes: random.integer(2, 4),
    workersPerProcess: random.integer(2, 5),
    sessions: random.chance(0.6) ? 0.6 : 0,
    leaseMs: [shortest, isQuiet ? shortest : shortest + random.integer(0, 1_000)],
    poll: { min: 20, max: 400 },
    requestTimeoutMs: answersSlowly ? shortest : 1_000,
    mishapEveryMs: hasCoarseClocks ? random.integer(1_000, 3_000) : random.integer(2_000, 12_000),
    behaviour: {
      ...plan.behaviour,
      // Without faults, a process closes its session only after all leases on the session.
      closesInUse: isQuiet ? 0 : 0.3,
      byHand: isQuiet ? 0 : 0.15,
      forgets: 0,
      holdsLong: hasCoarseClocks || kind === "tampered world" ? 0.5 : 0.1,
      longHoldMs: (FORCED_RELEASES_IN.includes(kind) ? 10 : 4) * shortest,
      shortHoldMs: 300,
      longestRestMs: 300,
    },
    ...(kind === "late world" ? lateness(random) : {}),
    ...(keepsSessions(seed, kind) ? { faults: withoutCopies(plan.faults) } : {}),
    // A new fence begins at its creator's clock, which is behind the old fence only if a clock is wrong.
    ...(kind === "tampered world" ? { drift: 0, wallOffsetMs: 0 } : {}),
    world: withBursts(
      random,
      {
        ...worldOf(random, kind),
        hasCoarseClocks,
        answersSlowly,
        keepsSessions: keepsSessions(seed, kind),
      },
      kind,
    ),
  });
}

/** Without faults, no lease may be lost to the other requests of its own process, however few connections it has. */
function withBursts(
  random: SeededRandom,
  world: Omit<World, "connections">,
  kind: WorldKind,
): World {
  if (kind !== "calm world" || random.chance(0.4)) return { ...world, connections: undefined };
  return {
    ...world,
    connections: random.integer(3, 8),
    weights: { ...world.weights, burst: 1 },
    // Answers in which a burst takes longer than a lease.
    slow: 1,
  };
}

/** With many names, few processes contend: then slow or lost answers matter most. */
function namesOf(random: SeededRandom, kind: WorldKind): readonly string[] {
  if (WILD_KINDS.includes(kind) && random.chance(0.2)) return MANY_NAMES;
  return random.chance(0.5) ? ["a", "b"] : ["a", "b", "c"];
}

// In an aged world, processes rest for days, without a session.
const KEEPING_KINDS: readonly WorldKind[] = ["world", "cloned world"];

/** By the seed alone, so that the other seeds run as they did before there were kept sessions. */
function keepsSessions(seed: number, kind: WorldKind): boolean {
  return seed % 8 === 5 && KEEPING_KINDS.includes(kind);
}

/** A late copy of a grant puts a released permit back, until a waiter asks for it (rule 108). */
function withoutCopies({ faults, longestDelayMs }: Plan["faults"]): Plan["faults"] {
  const { duplicated: _, reordered: __, "applied-late": ___, ...others } = faults;
  return { faults: others, ...(longestDelayMs === undefined ? {} : { longestDelayMs }) };
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

function worldOf(
  random: SeededRandom,
  kind: WorldKind,
): Omit<World, "hasCoarseClocks" | "answersSlowly" | "keepsSessions" | "connections"> {
  const isWild = WILD_KINDS.includes(kind);
  const sometimes = (weight: number): number => (random.chance(0.75) ? weight : 0);
  return {
    weights: withFocus(random, {
      mutex: 4,
      fairLock: sometimes(3),
      multiLock: sometimes(2),
      semaphore: sometimes(1),
      readWriteLock: sometimes(1),
      import: sometimes(3),
      election: sometimes(1),
      resignRequest: sometimes(0.5),
      burst: 0,
    }),
    forces: FORCED_RELEASES_IN.includes(kind) ? sometimes(0.2) : 0,
    tasksEveryMs: sometimes(random.integer(3_000, 15_000)),
    permits: random.integer(1, 4),
    exports: random.chance(0.7) ? 0.4 : 0,
    reservesLong: isWild && random.chance(0.4) ? 0.3 : 0,
    greed: random.chance(0.5) ? 0 : 0.6,
    slow: random.chance(0.5) ? 0 : 0.5,
    areCopies: kind === "cloned world",
    isTampered: kind === "tampered world",
    isWild,
    hasWrongClocks: isWild && random.chance(0.3),
    // After the deletion of the record, each new ticket is below the last granted one.
    ticketsAheadMs: kind === "tampered world" && random.chance(0.7) ? DAY_MS : undefined,
  };
}

// Operations with errors that show only if many processes call them at the same time.
const FOCUSES: readonly OperationName[] = [
  ...(["fairLock", "multiLock", "semaphore", "readWriteLock"] as const),
];

/** In almost half of the runs, makes one operation ten times as frequent. */
function withFocus(random: SeededRandom, weights: World["weights"]): World["weights"] {
  const focus = FOCUSES[random.integer(0, FOCUSES.length - 1)];
  if (focus === undefined || random.chance(0.4)) return weights;
  return { ...weights, [focus]: 10 * weights[focus] };
}
