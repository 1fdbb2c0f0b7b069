import { HoldfastError } from "../../errors.js";
import type { Item, Query, Read, Scan, Transaction, Write } from "../../platform/table.js";
import type { SeededRandom } from "../time/seeded-random.js";

/** What can go wrong with one request. */
export type Fault =
  /** Never arrives. The caller's answer is unknown, after `unknownAfterMs` or at its timeout. */
  | { readonly fault: "request-lost"; readonly unknownAfterMs?: number }
  /** Carried out, and the answer never arrives. */
  | { readonly fault: "response-lost"; readonly unknownAfterMs?: number }
  /**
   * Carried out, the answer lost, and sent again by the SDK after `retryAfterMs` (default 0): the
   * caller sees only the second answer, for a write usually a refusal by its own success.
   */
  | { readonly fault: "response-lost-and-retried"; readonly retryAfterMs?: number }
  /** Carried out after `delayMs` of true time; the caller never hears of it. */
  | { readonly fault: "applied-late"; readonly delayMs: number; readonly unknownAfterMs?: number }
  /** Carried out and answered as usual, and a second copy of it `delayMs` of true time later. */
  | { readonly fault: "duplicated"; readonly delayMs: number }
  /** Takes `delayMs` to arrive, so that requests sent later overtake it; then answered as usual. */
  | { readonly fault: "reordered"; readonly delayMs: number }
  /** Carried out at once; the answer takes `delayMs`, perhaps longer than the call. */
  | { readonly fault: "delayed"; readonly delayMs: number }
  /** Not carried out: too many requests. */
  | { readonly fault: "throttled" }
  /** Not carried out: a transaction has the item. Writes and transactions only. */
  | { readonly fault: "conflict" }
  /** Answered from `changesAgo` (default 1) changes of the item ago. Eventually consistent reads only. */
  | { readonly fault: "stale"; readonly changesAgo?: number }
  /** The item is deleted, by hand or by TTL, just before the request is carried out. Writes and reads of one item only. */
  | { readonly fault: "item-gone" }
  /** Not carried out: answered `misconfigured`, with this error. */
  | { readonly fault: "misconfigured"; readonly error: HoldfastError };

/** The name of a fault. */
export type FaultKind = Fault["fault"];

/** No fault of any kind yet. */
export const NO_FAULTS: Readonly<Record<FaultKind, number>> = Object.freeze({
  "request-lost": 0,
  "response-lost": 0,
  "response-lost-and-retried": 0,
  "applied-late": 0,
  duplicated: 0,
  reordered: 0,
  delayed: 0,
  throttled: 0,
  conflict: 0,
  stale: 0,
  "item-gone": 0,
  misconfigured: 0,
});

/** A request, as a plan sees it. */
export type FaultRequest =
  | { readonly kind: "write"; readonly write: Write }
  | { readonly kind: "transact"; readonly transaction: Transaction }
  | { readonly kind: "read"; readonly read: Read }
  | { readonly kind: "scan"; readonly scan: Scan }
  | { readonly kind: "query"; readonly query: Query };

/** The key of the one item that a request is about; undefined if it is about several. */
export function keyOf(request: FaultRequest): Item | undefined {
  if (request.kind === "write") return request.write.key;
  return request.kind === "read" ? request.read.key : undefined;
}

/** The kinds of requests that a port knows. */
export type RequestKind = FaultRequest["kind"];

/** No request of any kind yet. */
export const NO_REQUESTS: Readonly<Record<RequestKind, number>> = Object.freeze({
  write: 0,
  transact: 0,
  read: 0,
  scan: 0,
  query: 0,
});

/** A fault that was queued for the next requests of a kind. */
export interface Planned {
  readonly kind: RequestKind | "any";
  readonly fault: Fault;
  left: number;
}

/** Decides for one request; `ordinal` counts the requests of its kind, from 1. */
export type FaultScript = (request: FaultRequest, ordinal: number) => Fault | undefined;

/** How likely each fault is for a request that can have it, from 0 to 1; 0 where left out. */
export interface FaultProbabilities {
  readonly faults: Partial<Record<Exclude<FaultKind, "misconfigured">, number>>;
  /** Delays are spread evenly up to this many milliseconds; default 8,000. */
  readonly longestDelayMs?: number;
}

function canHave(request: FaultRequest, kind: FaultKind): boolean {
  if (kind === "conflict") return request.kind === "write" || request.kind === "transact";
  if (kind === "stale") return request.kind === "read" && !request.read.consistent;
  if (kind === "item-gone") return request.kind === "write" || request.kind === "read";
  return true;
}

/** Refuses what cannot happen to such a request in reality: a test that relied on it would prove nothing. */
export function checkPossible(request: FaultRequest, fault: Fault): void {
  if (canHave(request, fault.fault)) return;
  const what = request.kind === "read" ? "consistent read" : request.kind;
  throw new HoldfastError(
    "invalid-argument",
    `The fault "${fault.fault}" cannot befall a ${what}.`,
  );
}

/** A script that draws one fault, or none, for each request. */
export function randomFaults(random: SeededRandom, probabilities: FaultProbabilities): FaultScript {
  const entries = Object.entries(probabilities.faults) as [
    keyof FaultProbabilities["faults"],
    number,
  ][];
  const total = entries.reduce((sum, [, probability]) => sum + probability, 0);
  if (!(total <= 1) || entries.some(([, probability]) => !(probability >= 0))) {
    throw new HoldfastError(
      "invalid-argument",
      `Probabilities are at least 0 and together at most 1; they are together ${total}.`,
    );
  }
  const delayMs = (): number => random.fraction() * (probabilities.longestDelayMs ?? 8000);
  return (request) => {
    let left = random.fraction();
    const drawn = entries.find(([, probability]) => {
      left -= probability;
      return left < 0;
    });
    if (drawn === undefined || !canHave(request, drawn[0])) return undefined;
    return madeFault(drawn[0], delayMs, random);
  };
}

function madeFault(
  kind: Exclude<FaultKind, "misconfigured">,
  delayMs: () => number,
  random: SeededRandom,
): Fault {
  // A broken connection is noticed at once, a silent one at the call's timeout: both happen.
  const noticed = random.chance(0.5) ? { unknownAfterMs: random.integer(0, 50) } : {};
  if (kind === "request-lost" || kind === "response-lost") return { fault: kind, ...noticed };
  if (kind === "applied-late") return { fault: kind, delayMs: delayMs(), ...noticed };
  if (kind === "delayed" || kind === "duplicated" || kind === "reordered") {
    return { fault: kind, delayMs: delayMs() };
  }
  if (kind === "response-lost-and-retried") {
    return { fault: kind, retryAfterMs: random.integer(0, 200) };
  }
  if (kind === "stale") return { fault: kind, changesAgo: random.integer(1, 5) };
  return { fault: kind };
}
