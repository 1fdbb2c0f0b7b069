import type { ProxyFault } from "../../packages/testing/src/proxy/proxy-plan.js";
import { type SeededRandom, seededRandom } from "../../packages/testing/src/time/seeded-random.js";

/** A fault of a worker or of the table. */
export type Mishap =
  | { readonly kind: "process killed"; readonly downMs: number }
  | { readonly kind: "process stopped"; readonly forMs: number }
  /** After a step backwards a holder believes for longer, which shows when no renewal is answered. */
  | { readonly kind: "wall clock stepped"; readonly byMs: number; readonly thenCutMs: number }
  | { readonly kind: "network cut"; readonly forMs: number; readonly delivers: boolean }
  | { readonly kind: "requests stalled" | "answers stalled"; readonly forMs: number }
  | { readonly kind: "network slow"; readonly forMs: number; readonly delayMs: number }
  | { readonly kind: "connections refused"; readonly forMs: number }
  | { readonly kind: "server killed"; readonly downMs: number }
  | { readonly kind: "session deleted" }
  | { readonly kind: "request"; readonly fault: ProxyFault; readonly operation: string };

/** A mishap, its time, and the place from which to search for a suitable worker. */
export interface Due {
  readonly atMs: number;
  readonly place: number;
  readonly mishap: Mishap;
}

/** The parameters of a plan. */
export interface PlanOptions {
  readonly seed: number;
  readonly lengthMs: number;
  readonly processes: number;
  /** Whether wall clocks can be stepped here. */
  readonly hasClocks: boolean;
  /** Whether the server can be killed here. */
  readonly hasServer: boolean;
  /** Whether the workers acquire permits of one semaphore, and not locks. */
  readonly hasPermits: boolean;
}

/** Everything a seed decides; the machine decides the timing. */
export interface Plan {
  readonly names: readonly string[];
  readonly leaseMs: readonly [number, number];
  readonly pollMs: { readonly min: number; readonly max: number };
  readonly tasks: number;
  readonly mishaps: readonly Due[];
  /** The random generator of each place. */
  readonly randoms: readonly SeededRandom[];
}

/** What differs between a run with locks and a run with permits. */
interface Shape extends Omit<Plan, "mishaps" | "randoms"> {
  /** The mean pause between two mishaps beyond the mishaps of every run. */
  readonly mishapEveryMs: number;
}

const OF_LOCKS: Shape = {
  names: ["a", "b", "c"],
  tasks: 2,
  leaseMs: [800, 2_400],
  pollMs: { min: 20, max: 200 },
  mishapEveryMs: 2_000,
};

// With many processes on a machine requests are slow, so leases are longer and polls rarer.
const OF_PERMITS: Shape = {
  names: ["a"],
  tasks: 1,
  leaseMs: [4_000, 4_000],
  pollMs: { min: 200, max: 1_000 },
  mishapEveryMs: 1_500,
};

/** How many times longer than requested a run may take until every kind of fault has happened. */
export const MOST_TIMES = 4;

const UPDATE = "UpdateItem";

/** The proxy's faults of a single request; every run has each of them. */
const REQUEST_FAULTS: readonly (readonly [string, ProxyFault])[] = [
  [UPDATE, { fault: "request-lost", how: "reset" }],
  [UPDATE, { fault: "request-lost", how: "hang" }],
  [UPDATE, { fault: "response-lost", how: "reset" }],
  [UPDATE, { fault: "response-lost", how: "hang" }],
  [UPDATE, { fault: "response-lost", how: "internal-error" }],
  [UPDATE, { fault: "truncated", how: "cut" }],
  [UPDATE, { fault: "truncated", how: "halved" }],
  [UPDATE, { fault: "internal-error" }],
  [UPDATE, { fault: "throttled" }],
  [UPDATE, { fault: "conflict" }],
  ["TransactWriteItems", { fault: "conflict" }],
  ["TransactWriteItems", { fault: "response-lost", how: "reset" }],
];

/** Returns the name for counting a fault of a request. */
export function nameOf(operation: string, fault: ProxyFault): string {
  const how = "how" in fault ? ` (${fault.how})` : "";
  return `${fault.fault}${how}${operation === "TransactWriteItems" ? " of a transaction" : ""}`;
}

/** Draws a plan: each kind of mishap at least once in the first three quarters, and more until the end. */
export function planOf(options: PlanOptions): Plan {
  const random = seededRandom(options.seed);
  const { lengthMs, processes } = options;
  const { mishapEveryMs, ...shape } = shapeOf(options);
  const place = (): number => random.integer(0, processes - 1);
  const once = shuffled(random, mishapsOnce(random, options));
  const firstMs = Math.min(1_500, lengthMs / 10);
  const stepMs = (0.75 * lengthMs - firstMs) / once.length;
  const mishaps: Due[] = once.map((mishap, index) => ({
    atMs: firstMs + stepMs * (index + random.fraction()),
    place: place(),
    mishap,
  }));
  for (
    let atMs = firstMs;
    atMs < MOST_TIMES * lengthMs;
    atMs += random.fraction() * 2 * mishapEveryMs
  ) {
    const more = mishapsOnce(random, options);
    const mishap = more[random.integer(0, more.length - 1)];
    // A server which is down most of the time grants nothing.
    if (mishap !== undefined && (mishap.kind !== "server killed" || random.chance(0.3)))
      mishaps.push({ atMs, place: place(), mishap });
  }
  mishaps.sort((a, b) => a.atMs - b.atMs);
  const randoms = Array.from({ length: processes }, () => random.fork());
  return { ...shape, mishaps, randoms };
}

function shapeOf({ hasPermits }: Pick<PlanOptions, "hasPermits">): Shape {
  return hasPermits ? OF_PERMITS : OF_LOCKS;
}

/** One mishap of each kind. */
function mishapsOnce(random: SeededRandom, options: PlanOptions): Mishap[] {
  const [, lease] = shapeOf(options).leaseMs;
  const forMs = (): number => Math.round(200 + random.fraction() * 2 * lease);
  const delayMs = random.integer(100, 3_000);
  const one: Mishap[] = [
    { kind: "process killed", downMs: random.integer(0, 1_500) },
    // Both far longer than a lease and shorter: some workers are still holders when they continue.
    { kind: "process stopped", forMs: forMs() },
    { kind: "process stopped", forMs: 2 * lease },
    { kind: "network cut", forMs: forMs(), delivers: false },
    { kind: "network cut", forMs: forMs(), delivers: true },
    { kind: "requests stalled", forMs: forMs() },
    { kind: "answers stalled", forMs: forMs() },
    { kind: "network slow", forMs: forMs(), delayMs: random.integer(50, 700) },
    { kind: "connections refused", forMs: forMs() },
    { kind: "request", operation: UPDATE, fault: { fault: "delayed", delayMs } },
    { kind: "request", operation: UPDATE, fault: { fault: "applied-late", delayMs, how: "reset" } },
    { kind: "request", operation: UPDATE, fault: { fault: "applied-late", delayMs, how: "hang" } },
    {
      kind: "request",
      operation: "TransactWriteItems",
      fault: { fault: "applied-late", delayMs: 2 * lease, how: "reset" },
    },
    ...REQUEST_FAULTS.map(([operation, fault]): Mishap => ({ kind: "request", operation, fault })),
  ];
  // Kills and pauses are what a run with permits is about.
  if (options.hasPermits) {
    for (let more = 0; more < 4; more += 1) {
      one.push({ kind: "process killed", downMs: random.integer(0, 1_500) });
      one.push({ kind: "process stopped", forMs: forMs() });
    }
  } else {
    // At three times: at one of them the table is up, and some lock is on a session.
    for (let times = 0; times < 3; times += 1) one.push({ kind: "session deleted" });
  }
  if (options.hasServer) one.push({ kind: "server killed", downMs: random.integer(0, 1_500) });
  if (options.hasClocks) {
    one.push({ kind: "wall clock stepped", byMs: random.integer(500, 20_000), thenCutMs: 0 });
    const byMs = -random.integer(2 * lease, 20_000);
    one.push({ kind: "wall clock stepped", byMs, thenCutMs: 2 * lease });
  }
  return one;
}

/** The kinds of faults which every run must have, counted when they happen, not when planned. */
export function kindsExpected(options: PlanOptions): string[] {
  const planned = mishapsOnce(seededRandom(0), options).map((mishap) =>
    mishap.kind === "request" ? nameOf(mishap.operation, mishap.fault) : mishap.kind,
  );
  const clocks = ["clock drifting", "wall clock skewed"];
  return [
    ...new Set([...planned, ...(options.hasClocks ? clocks : []), "request in a cut"]),
    ...(options.hasServer ? ["no answer (refused)"] : []),
  ];
}

function shuffled<T>(random: SeededRandom, items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: random.fraction() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
