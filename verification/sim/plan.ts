import { type Duration, inMs } from "../../packages/holdfast/src/internal/duration.js";
import type { FaultProbabilities } from "../../packages/testing/src/faults/fault-plan.js";
import { type SeededRandom, seededRandom } from "../../packages/testing/src/time/seeded-random.js";
import { datesOf, withWrongDates } from "./dates.js";
import { type Dates, SAFETY, type Terms, TIMER_SLACK_MS } from "./terms.js";
import { worldTermsOf } from "./world/terms.js";
import type { World, WorldKind } from "./world/traits.js";

/**
 * - `crowd`: many workers and all kinds of faults.
 * - `duel`: two processes whose clocks drift apart as far as the bound allows; the holder
 *   keeps the lock to the deadline, and the waiter polls without pause. Wrong margins fail here.
 * - `ages`: a crowd; between its turns days pass, and TTL deletes expired items.
 * - `calm`: no faults.
 * - `one fault`: one request fails; the next fault comes only after all effects.
 * - `crash`: processes die; no other faults.
 * - `sessions`: a crowd which holds by sessions; rows of sessions are deleted by hand, and answers to their writes
 *   are lost. Half of these runs have no faults of single requests.
 * - `deleted`: an operator deletes records by hand, also held records.
 * - `snapshot`: machines stand still with all their clocks.
 */
export type CoreKind =
  | "crowd"
  | "duel"
  | "ages"
  | "calm"
  | "one fault"
  | "crash"
  | "sessions"
  | "deleted"
  | "snapshot";

/** The kind of a run: of the core, or of the world in `world/plan.ts`. */
export type PlanKind = CoreKind | WorldKind;

/** The behaviour of workers: probabilities from 0 to 1, lengths in milliseconds. */
interface Behaviour {
  readonly cancels: number;
  readonly tries: number;
  readonly impatience: number;
  readonly byHand: number;
  readonly guards: number;
  readonly forgets: number;
  readonly holdsLong: number;
  readonly longHoldMs: number;
  readonly shortHoldMs: number;
  readonly longestRestMs: number;
  /** The probability of closing a session with leases on it; otherwise workers wait until it has none. */
  readonly closesInUse: number;
}

/** Everything a seed decides before a run. */
export interface Plan {
  readonly seed: number;
  readonly kind: PlanKind;
  /** How much slower than in a dense run everything is: leases, polls, work. */
  readonly pace: number;
  readonly random: SeededRandom;
  readonly names: readonly string[];
  readonly processes: number;
  readonly workersPerProcess: number;
  /** The probability of holding by a session; half of these processes use the client's own session. */
  readonly sessions: number;
  readonly lengthMs: number;
  readonly maxClockDrift: number;
  /** The largest real drift of a clock; 0 if all clocks are exact. */
  readonly drift: number;
  readonly wallOffsetMs: number;
  readonly leaseMs: readonly [number, number];
  readonly latencyMs: number;
  /** The polling interval of waiters, in milliseconds. */
  readonly poll: { readonly min: number; readonly max: number };
  readonly requestTimeoutMs: number;
  readonly faults: FaultProbabilities;
  /** The least pause between two mishaps, in milliseconds. */
  readonly mishapsApartMs: number;
  /** The mean pause between two mishaps of processes (pauses, kills, clock steps), in milliseconds. */
  readonly mishapEveryMs: number;
  readonly behaviour: Behaviour;
  /** The `Date`s of the table's answers; undefined: answers have none. */
  readonly dates?: Dates | undefined;
  /** Present in runs of the world: processes do whatever the library offers. */
  readonly world?: World;
}

const DRIFT_BOUND = 0.01;
const MANY_NAMES = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
// Short runs are dense, to contain many events. Most long runs have the library's default pace, which takes
// a tenth of the time to simulate.
const LONG_RUN_MS = 300_000;
const SLOW_PACE = 10;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Draws a plan. Both calm and wild runs occur: some defects show only when faults are rare. */
export function planOf(seed: number, lengthMs: number): Plan {
  return withDates(undatedPlanOf(seed, lengthMs));
}

/** Returns the plan of a seed for a table whose answers have no `Date`. */
function undatedPlanOf(seed: number, lengthMs: number): Plan {
  const random = seededRandom(seed);
  const crowd = crowdOf(seed, random, lengthMs);
  const drawn = random.fraction();
  if (drawn < 0.32) return crowd;
  if (drawn < 0.55) return duelOf(crowd);
  if (drawn < 0.65) return calmOf(crowd);
  if (drawn < 0.73) return oneFaultOf(crowd);
  if (drawn < 0.8) return crashOf(crowd);
  if (drawn < 0.92) return sessionsOf(crowd);
  if (drawn < 0.95) return agesOf(crowd);
  if (drawn < 0.97) return deletedOf(crowd);
  return snapshotOf(crowd);
}

const WILD = {
  cancels: 0.1,
  tries: 0.15,
  impatience: 0.3,
  byHand: 0.25,
  guards: 0.2,
  forgets: 0.03,
  holdsLong: 0.2,
};

export function crowdOf(seed: number, random: SeededRandom, lengthMs: number): Plan {
  const drawn = random.fraction();
  const wildness = drawn * drawn;
  const chance = (most: number): number => most * wildness * random.fraction();
  const isSlow = lengthMs >= LONG_RUN_MS && random.chance(0.9);
  const pace = isSlow ? SLOW_PACE : 1;
  const shortest = pace * random.integer(600, 2_000);
  return {
    seed,
    kind: "crowd",
    pace,
    random,
    names: random.chance(0.5) ? ["a"] : ["a", "b", "c"],
    processes: random.integer(2, 4),
    workersPerProcess: random.integer(1, 3),
    sessions: random.chance(0.25) ? 0.6 : 0,
    lengthMs,
    maxClockDrift: DRIFT_BOUND,
    drift: DRIFT_BOUND,
    wallOffsetMs: 4_000,
    leaseMs: [shortest, shortest + pace * random.integer(0, 2_000)],
    latencyMs: random.chance(0.4) ? 0.2 : random.integer(1, 40),
    poll: isSlow ? { min: 100, max: 2_000 } : { min: 20, max: 400 },
    requestTimeoutMs: isSlow ? 5_000 : 1_000,
    faults: {
      faults: {
        "request-lost": chance(0.1),
        "response-lost": chance(0.1),
        "response-lost-and-retried": chance(0.1),
        "applied-late": chance(0.1),
        duplicated: chance(0.08),
        reordered: chance(0.08),
        delayed: chance(0.12),
        throttled: chance(0.08),
        conflict: chance(0.05),
        stale: chance(0.18),
      },
      longestDelayMs: random.chance(0.5) ? 1_000 : 8_000,
    },
    mishapsApartMs: 0,
    mishapEveryMs: random.chance(0.2)
      ? Number.POSITIVE_INFINITY
      : Math.min(pace, 3) * random.integer(1_000, 20_000),
    behaviour: {
      ...WILD,
      longHoldMs: pace * 5_000,
      shortHoldMs: pace * 300,
      longestRestMs: isSlow ? 1_000 : 300,
      closesInUse: 0.5,
    },
  };
}

function duelOf(crowd: Plan): Plan {
  const { pace, behaviour } = crowd;
  const [leaseMs] = crowd.leaseMs;
  return {
    ...crowd,
    kind: "duel",
    names: ["a"],
    processes: 2,
    workersPerProcess: 1,
    sessions: crowd.random.chance(0.25) ? 1 : 0,
    leaseMs: [leaseMs, leaseMs],
    // A slow network and a slow rival hide margins which are too small.
    latencyMs: 0.2,
    poll: { min: 2 * pace, max: 10 * pace },
    faults: { faults: {} },
    mishapEveryMs: 4 * leaseMs,
    behaviour: { ...behaviour, holdsLong: 1, longHoldMs: pace * 60_000 },
  };
}

/** Returns a plan without faults and without cancelled waits, so that all costs and times are known. */
export function quietOf(crowd: Plan): Plan {
  const { random, pace, behaviour } = crowd;
  const leaseMs = pace * random.integer(1_000, 6_000);
  return {
    ...crowd,
    processes: random.integer(1, 4),
    sessions: random.chance(0.4) ? 0.7 : 0,
    leaseMs: [leaseMs, leaseMs],
    poll: {
      min: pace * random.integer(10, 100),
      max: pace * random.integer(100, 400),
    },
    faults: { faults: {} },
    mishapEveryMs: Number.POSITIVE_INFINITY,
    behaviour: {
      ...behaviour,
      cancels: 0,
      impatience: 0,
      byHand: 0,
      forgets: 0,
      longHoldMs: 3 * leaseMs,
    },
  };
}

function calmOf(crowd: Plan): Plan {
  const quiet = quietOf(crowd);
  return { ...quiet, kind: "calm", behaviour: { ...quiet.behaviour, closesInUse: 0 } };
}

function oneFaultOf(crowd: Plan): Plan {
  const quiet = quietOf(crowd);
  const leaseMs = quiet.random.integer(30_000, 40_000);
  return {
    ...quiet,
    kind: "one fault",
    processes: quiet.random.integer(2, 4),
    leaseMs: [leaseMs, leaseMs],
    // Two faults in sequence count as separate only after the effects of the first have ended.
    mishapsApartMs: 5_000 + 3 * quiet.requestTimeoutMs + 5 * quiet.poll.max,
    mishapEveryMs: 3_000,
    behaviour: { ...quiet.behaviour, byHand: 0.1, longHoldMs: 4_000, shortHoldMs: 300 },
  };
}

function crashOf(crowd: Plan): Plan {
  const quiet = quietOf(crowd);
  // A process with a session holds many locks.
  const many = { names: MANY_NAMES, workersPerProcess: 6 };
  return {
    ...quiet,
    ...(quiet.sessions > 0 ? many : {}),
    kind: "crash",
    processes: quiet.random.integer(2, 4),
    mishapEveryMs: Math.min(quiet.pace, 3) * quiet.random.integer(1_000, 8_000),
  };
}

function sessionsOf(crowd: Plan): Plan {
  const { random, leaseMs, behaviour } = crowd;
  const [shortest] = leaseMs;
  // When few other faults happen, remains of a session show.
  const tame = random.chance(0.5) ? { faults: { faults: {} } } : {};
  return {
    ...crowd,
    ...tame,
    kind: "sessions",
    names: MANY_NAMES.slice(0, random.integer(1, 4)),
    workersPerProcess: random.integer(1, 3),
    sessions: 0.75,
    mishapEveryMs: 4 * shortest,
    behaviour: { ...behaviour, holdsLong: 0.5 },
  };
}

function agesOf(crowd: Plan): Plan {
  return { ...crowd, kind: "ages", wallOffsetMs: 2 * DAY_MS };
}

function deletedOf(crowd: Plan): Plan {
  const quiet = quietOf(crowd);
  return {
    ...quiet,
    kind: "deleted",
    processes: quiet.random.integer(2, 4),
    // A new fence starts at its creator's clock, which is behind the old fence only if a clock is wrong.
    drift: 0,
    wallOffsetMs: 0,
    mishapEveryMs: 10_000,
    behaviour: { ...quiet.behaviour, byHand: 0.25 },
  };
}

function snapshotOf(crowd: Plan): Plan {
  const [shortest] = crowd.leaseMs;
  return { ...crowd, kind: "snapshot", mishapEveryMs: 4 * shortest };
}

// The longest pause between two attempts to free an abandoned record while its session is alive.
const LONGEST_SWEEP_PAUSE_MS = 10_000;

/** Returns the terms of a run with this plan. */
export function termsOf(plan: Plan): Terms {
  const { kind, maxClockDrift, latencyMs, poll, requestTimeoutMs } = plan;
  const isExclusive = !["deleted", "snapshot", "tampered world"].includes(kind);
  const slow = 1 / (1 - maxClockDrift);
  // The longest pause before a read, the read, the write, and both answers. A waiter for a lock on a session may read
  // the session at every other turn, and must end the session first.
  const reads = plan.sessions > 0 ? 2 : 1;
  const readMs = reads * (1.25 * poll.max * slow + 6 * latencyMs + 2 * TIMER_SLACK_MS);
  const safety: Terms = { ...SAFETY, maxClockDrift, isExclusive, dates: plan.dates };
  switch (kind) {
    case "calm":
      return {
        ...safety,
        losesNothing: true,
        longestStillMs: readMs,
        longestIdleMs: readMs + 6 * latencyMs,
        cost: {
          renewMs: plan.leaseMs[0] / 3,
          longestLeaseMs: plan.leaseMs[1],
          minPollMs: poll.min,
          maxPollMs: poll.max,
          latencyMs,
        },
      };
    case "one fault": {
      // An unanswered request, the pause before its next send, and the answer to the next send.
      const onceMoreMs = slow * (requestTimeoutMs + 1.25 * Math.max(100, poll.min));
      const idleMs = 2 * readMs + onceMoreMs + 12 * latencyMs;
      return { ...safety, losesNothing: true, longestStillMs: idleMs, longestIdleMs: idleMs };
    }
    case "crash":
      return {
        ...safety,
        losesNothing: true,
        longestStillMs: readMs,
        firstSightMs: firstSightMsOf(plan),
      };
    case "crowd":
    case "ages":
    case "sessions":
    case "snapshot": {
      const sweepMs = plan.sessions > 0 ? LONGEST_SWEEP_PAUSE_MS * 1.25 * slow : 0;
      return { ...safety, longestStillMs: readMs + triesOf(plan) * tryMs(plan) + sweepMs };
    }
    case "calm world":
    case "crashing world":
    case "late world":
      return { ...safety, ...worldTermsOf(plan), losesNothing: true };
    case "world":
    case "cloned world":
    case "aged world":
      return { ...safety, ...worldTermsOf(plan) };
    default:
      return safety;
  }
}

/** Returns a number of attempts which all fail with a probability below one in a thousand million. */
export function triesOf({ faults }: Plan): number {
  const failing = Object.values(faults.faults).reduce((sum, chance) => sum + chance, 0);
  // Plus three for stepped wall clocks, each of which may end an attempt.
  return 3 + Math.ceil(Math.log(1e-9) / Math.log(Math.max(failing, 1e-9)));
}

/** The option `poll` of a plan's waiters. */
export function pollOf({ poll }: Plan): { readonly min: Duration; readonly max: Duration } {
  return { min: inMs(poll.min), max: inMs(poll.max) };
}

export function tryMs({ requestTimeoutMs, poll, maxClockDrift }: Plan): number {
  return (requestTimeoutMs + 1.25 * poll.max) / (1 - maxClockDrift);
}

/** Returns the rate of the n-th process: duellists take the two ends of the bound in turn. */
export function firstRateOf(plan: Plan, n: number, random: SeededRandom): number {
  if (plan.kind !== "duel") return rateOf(random, plan.drift);
  return n % 2 === 1 ? 1 - plan.drift : 1 + plan.drift;
}

/** Returns a rate within the bound; the ends are more likely than the middle, since margins fail there. */
export function rateOf(random: SeededRandom, bound: number): number {
  if (random.chance(0.7)) return random.chance(0.5) ? 1 + bound : 1 - bound;
  return 1 + bound * (2 * random.fraction() - 1);
}

/**
 * Returns the error of a wall clock in milliseconds; the ends are more likely than the middle, as for rates.
 */
export function wallOffsetOf({ wallOffsetMs }: Plan, random: SeededRandom): number {
  if (random.chance(0.5)) return random.chance(0.5) ? wallOffsetMs : -wallOffsetMs;
  return random.integer(-wallOffsetMs, wallOffsetMs);
}

export function withDates(plan: Plan): Plan {
  const { seed, kind, wallOffsetMs, leaseMs, behaviour } = plan;
  // An own source of random numbers: a run without `Date`s is the same as ever.
  const random = seededRandom(1_000_003 * seed + 7);
  const isQuiet = [
    "calm",
    "one fault",
    "crash",
    "calm world",
    "crashing world",
    "late world",
  ].includes(kind);
  const servers = datesOf(random, isQuiet || random.chance(0.5) ? leaseMs[0] / 10 : 4_000);
  if (servers === undefined) return plan;
  const dates = isQuiet ? servers : withWrongDates(seed, servers);
  // If the first grant of a process needs a correction, the process sends one more request. Another test covers this.
  const keepsClocks = kind === "deleted" || kind === "ages" || kind === "aged world";
  const newOffsetMs = isQuiet ? 0 : random.chance(0.5) ? 5 * HOUR_MS : wallOffsetMs;
  const tries = random.chance(0.5) ? behaviour.tries : 0.7;
  return {
    ...plan,
    dates,
    wallOffsetMs: keepsClocks ? wallOffsetMs : newOffsetMs,
    behaviour: { ...behaviour, tries },
  };
}

/**
 * How long after its lease a dead holder's lock may refuse a process that tries once: the bound, the rounding of two
 * `Date`s, what the end of a first grant is later, the difference of the servers, and the requests.
 */
function firstSightMsOf({ dates, latencyMs }: Plan): number | undefined {
  // A `Date` that is behind costs a try.
  if (dates?.wrongPart !== undefined) return undefined;
  return dates && dates.boundMs + 2 * dates.differMs + 4_000 + 12 * latencyMs;
}
