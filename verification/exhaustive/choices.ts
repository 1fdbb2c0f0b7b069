import { HoldfastError } from "../../packages/holdfast/src/errors.js";
import type { Fault, FaultRequest } from "../../packages/testing/src/faults/fault-plan.js";
import type { VirtualProcess } from "../../packages/testing/src/time/virtual-process.js";

/** The lease of every lock of a run, in milliseconds. */
export const LEASE_MS = 6_000;
export const REQUEST_TIMEOUT_MS = 1_000;
/** The pauses between two reads of a waiter, in milliseconds. */
export const POLL = Object.freeze({ min: "400ms", max: 1_500 });
/** Each of the two ways of a request, in milliseconds. */
export const LATENCY_MS = 5;
export const MAX_CLOCK_DRIFT = 0.01;
export const MAX_CLOCK_ERROR_MS = 2_000;

// After the timeout of the request, and within its lease.
const LATE_MS = 1_500;
/** When the last copies of requests arrive, in milliseconds: after the lease of their process. */
export const VERY_LATE_MS = 8_000;
/** Shorter than what is left of a lease when a renewal is due. */
const PAUSE_MS = 2_500;
/** Longer than a lease. */
const STOP_MS = 9_000;
const STEP_MS = 3_600_000;
const UNREADABLE_MS = 1_500;

// A connection that breaks is noticed at once; a silent one only at the timeout.
const RESET = { unknownAfterMs: 20 } as const;

/** What a fault may cost, besides the time and the requests of the same run without the fault. */
export interface Price {
  /** In milliseconds. A single fault with a price below a lease costs no lease. */
  readonly costMs: number;
  /** How many times as many requests. */
  readonly times: number;
  /** Why it is not below a lease, or why it is more than double; absent where neither is. */
  readonly because?: string;
  /** Whether a lease may be lost. */
  readonly losesLease?: boolean;
}

/** One thing that can go wrong. */
export interface Choice {
  readonly name: string;
  readonly price: Price;
  /** Another choice with the same effects in another degree, which stands for this one beside further faults. */
  readonly alike?: string;
}

/** A fault of one request. */
export interface RequestChoice extends Choice {
  readonly fault: Fault;
  readonly isFor: (request: FaultRequest) => boolean;
}

/** Something that happens to a process right after it sent a request, or at another moment. */
export interface ProcessChoice extends Choice {
  /** Only at the first request of a process; only at a moment of its work; only while it holds a lock. Default: at all. */
  readonly only?: "first" | "moment" | "holding";
  readonly happens: "pause" | "stop" | "suspend" | "die" | "third" | "clock";
  readonly clock?: (process: VirtualProcess) => void;
}

const isWrite = ({ kind }: FaultRequest): boolean => kind === "write" || kind === "transact";
const isAny = (): boolean => true;
const isOfOneItem = ({ kind }: FaultRequest): boolean => kind === "write" || kind === "read";
const isEventual = (request: FaultRequest): boolean =>
  request.kind === "read" && !request.read.consistent;

// A silent connection in place of a broken one, an earlier copy, a shorter delay, another reason of a refusal.
const ALIKE: Readonly<Record<string, string>> = {
  hangs: "lost",
  "answer-lost": "answer-hangs",
  "sent-again": "twice-very-late",
  twice: "twice-very-late",
  "slow-answer": "overtaken",
  conflict: "throttled",
  denied: "throttled",
};

const NO_LEASE: Price = Object.freeze({ costMs: LEASE_MS, times: 2 });
const DENIED = new HoldfastError("access-denied", "Not authorized to perform this request.");

function request(
  name: string,
  fault: Fault,
  isFor: (request: FaultRequest) => boolean,
  price: Price = NO_LEASE,
): RequestChoice {
  const alike = ALIKE[name];
  return { name, fault, isFor, price, ...(alike === undefined ? {} : { alike }) };
}

/** The record of the lock is unreadable for a while, as if a later version of the library had written it. */
export const UNREADABLE = Object.freeze({
  name: "unreadable",
  forMs: UNREADABLE_MS,
  price: Object.freeze({
    costMs: LEASE_MS,
    times: 3,
    because: "the caller asks again every half second while the record is unreadable",
  }),
});

/** The item of a request is deleted just before the request arrives. */
export const DELETED = "deleted";

export const REQUEST_CHOICES: readonly RequestChoice[] = [
  request("lost", { fault: "request-lost", ...RESET }, isAny),
  request("hangs", { fault: "request-lost" }, isAny),
  request("answer-lost", { fault: "response-lost", ...RESET }, isWrite),
  request("answer-hangs", { fault: "response-lost" }, isWrite),
  request("sent-again", { fault: "response-lost-and-retried", retryAfterMs: 50 }, isWrite),
  request("late", { fault: "applied-late", delayMs: LATE_MS }, isWrite),
  request("very-late", { fault: "applied-late", delayMs: VERY_LATE_MS, ...RESET }, isWrite),
  request("twice", { fault: "duplicated", delayMs: LATE_MS }, isWrite),
  request("twice-very-late", { fault: "duplicated", delayMs: VERY_LATE_MS }, isWrite),
  request("slow-answer", { fault: "delayed", delayMs: 900 }, isAny),
  request("overtaken", { fault: "reordered", delayMs: 300 }, isWrite),
  request("throttled", { fault: "throttled" }, isAny),
  request("conflict", { fault: "conflict" }, isWrite),
  request("denied", { fault: "misconfigured", error: DENIED }, isAny, {
    costMs: LEASE_MS + MAX_CLOCK_ERROR_MS,
    times: 3,
    because:
      "a refused release is not sent again: its caller gets the error, and the others poll until the lease is over",
  }),
  request("stale", { fault: "stale" }, isEventual),
  request(DELETED, { fault: "item-gone" }, isOfOneItem, {
    costMs: 2 * LEASE_MS,
    times: 3,
    because:
      "a deletion by hand is a forced release, and waiters watch a missing session for a lease",
    losesLease: true,
  }),
];

export const PROCESS_CHOICES: readonly ProcessChoice[] = [
  {
    name: "pauses",
    happens: "pause",
    price: { costMs: PAUSE_MS + LEASE_MS, times: 3, because: "the others poll during the pause" },
  },
  { name: "stops", happens: "stop", price: stopped("a stop is longer than a lease") },
  {
    name: "sleeps",
    happens: "suspend",
    alike: "stops",
    price: stopped("a suspend is longer than a lease"),
  },
  {
    name: "dies",
    happens: "die",
    price: stopped("rivals wait until a dead process's lease is over"),
  },
  {
    name: "third",
    happens: "third",
    only: "moment",
    price: { costMs: LEASE_MS, times: 5, because: "a third process polls, too" },
  },
  clock("fast", (process) => process.setRate(1 + MAX_CLOCK_DRIFT)),
  clock("slow", (process) => process.setRate(1 - MAX_CLOCK_DRIFT)),
  {
    name: "wall-ahead",
    happens: "clock",
    only: "holding",
    clock: (process) => process.stepWall(STEP_MS),
    price: stopped("a holder obeys the clock that shows the longest time"),
  },
  {
    name: "wall-behind",
    happens: "clock",
    only: "holding",
    clock: (process) => process.stepWall(-STEP_MS),
    price: NO_LEASE,
  },
];

function stopped(because: string): Price {
  return { costMs: STOP_MS + 2 * LEASE_MS, times: 5, because, losesLease: true };
}

function clock(name: string, change: (process: VirtualProcess) => void): ProcessChoice {
  return { name, happens: "clock", only: "first", clock: change, price: NO_LEASE };
}

/** How long a process is stopped, in milliseconds, by the kind of its pause. */
export const STOPPED_MS = Object.freeze({ pause: PAUSE_MS, stop: STOP_MS, suspend: STOP_MS });

const ALL: ReadonlyMap<string, Choice> = new Map(
  [...REQUEST_CHOICES, ...PROCESS_CHOICES, UNREADABLE].map((choice) => [choice.name, choice]),
);

function choiceOf(name: string): Choice {
  const choice = ALL.get(name);
  if (choice === undefined) throw new Error(`Nothing is named "${name}".`);
  return choice;
}

/** Returns the price of a choice. Throws for a name that no choice has. */
export function priceOf(name: string): Price {
  return choiceOf(name).price;
}

/** Whether another choice stands for this one beside further faults. */
export function isStoodFor(name: string): boolean {
  return choiceOf(name).alike !== undefined;
}
