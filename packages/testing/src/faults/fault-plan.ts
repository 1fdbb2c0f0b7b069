import { HoldfastError } from "holdfast";
import type { Item, Query, Read, Scan, Transaction, Write } from "holdfast/internal";
import { valueText } from "holdfast/internal";
import type { SeededRandom } from "../time/seeded-random.js";

/** A fault of one request. */
export type Fault =
  /** The request never arrives. The answer is unknown after `unknownAfterMs`, or at the timeout. */
  | { readonly fault: "request-lost"; readonly unknownAfterMs?: number }
  /** Carried out, and the answer never arrives. */
  | { readonly fault: "response-lost"; readonly unknownAfterMs?: number }
  /**
   * Applied, but the answer is lost, and the SDK sends again after `retryAfterMs` (default 0). The caller sees
   * only the second answer, for a write usually a refusal caused by the first send.
   */
  | { readonly fault: "response-lost-and-retried"; readonly retryAfterMs?: number }
  /** Applied after `delayMs` of true time; the caller never receives the answer. */
  | { readonly fault: "applied-late"; readonly delayMs: number; readonly unknownAfterMs?: number }
  /** Applied and answered as usual, and a second copy is applied `delayMs` of true time later. */
  | { readonly fault: "duplicated"; readonly delayMs: number }
  /** Takes `delayMs` to arrive, so that later requests overtake this request; then answered as usual. */
  | { readonly fault: "reordered"; readonly delayMs: number }
  /** Carried out at once; the answer takes `delayMs`, perhaps longer than the call. */
  | { readonly fault: "delayed"; readonly delayMs: number }
  /** Not carried out: too many requests. */
  | { readonly fault: "throttled" }
  /** Not carried out: a transaction has the item. Writes and transactions only. */
  | { readonly fault: "conflict" }
  /** Answered from `changesAgo` (default 1) changes of the item ago. Eventually consistent reads only. */
  | { readonly fault: "stale"; readonly changesAgo?: number }
  /**
   * The table deletes the item just before it applies the request, as an operator or TTL could. Only for a write or
   * read of one item.
   */
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

/** A request as fault plans see requests. */
export type FaultRequest =
  | { readonly kind: "write"; readonly write: Write }
  | { readonly kind: "transact"; readonly transaction: Transaction }
  | { readonly kind: "read"; readonly read: Read }
  | { readonly kind: "scan"; readonly scan: Scan }
  | { readonly kind: "query"; readonly query: Query };

/** The key of a request about a single item; undefined for several items. */
export function keyOf(request: FaultRequest): Item | undefined {
  if (request.kind === "write") return request.write.key;
  return request.kind === "read" ? request.read.key : undefined;
}

/** The kinds of requests of a port. */
export type RequestKind = FaultRequest["kind"];

/** No request of any kind yet. */
export const NO_REQUESTS: Readonly<Record<RequestKind, number>> = Object.freeze({
  write: 0,
  transact: 0,
  read: 0,
  scan: 0,
  query: 0,
});

/** A fault queued for the next requests of a kind. */
export interface Planned<K extends string = RequestKind, F = Fault> {
  readonly kind: K | "any";
  readonly fault: F;
  left: number;
}

/** Takes the fault that is queued for a request of this kind. */
export function dequeue<K extends string, F>(queued: Planned<K, F>[], kind: K): F | undefined {
  const index = queued.findIndex((planned) => planned.kind === kind || planned.kind === "any");
  const planned = queued[index];
  if (planned === undefined) return undefined;
  planned.left -= 1;
  if (planned.left <= 0) queued.splice(index, 1);
  return planned.fault;
}

/** Decides the fault of one request; `ordinal` counts requests of the same kind from 1. */
export type FaultScript = (request: FaultRequest, ordinal: number) => Fault | undefined;

/** The probability of each fault, from 0 to 1, for requests that can have the fault; default 0. */
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

/**
 * Refuses a fault that cannot happen to such a request: a test with an impossible fault would prove nothing.
 */
export function checkPossible(request: FaultRequest, fault: Fault): void {
  checkFault(fault);
  if (canHave(request, fault.fault)) return;
  const what = request.kind === "read" ? "consistent read" : request.kind;
  throw new HoldfastError(
    "invalid-argument",
    `The fault "${fault.fault}" cannot happen to a request of kind "${what}".`,
  );
}

/** The options of each fault of a kit; a list: the option must be one of these words. */
export type KnownFaults<K extends string = string> = Readonly<
  Record<K, Readonly<Record<string, true | readonly string[]>>>
>;

const LOST = { unknownAfterMs: true } as const;
const DELAYED = { delayMs: true } as const;
const FAULTS: KnownFaults<FaultKind> = {
  "request-lost": LOST,
  "response-lost": LOST,
  "response-lost-and-retried": { retryAfterMs: true },
  "applied-late": { ...DELAYED, ...LOST },
  duplicated: DELAYED,
  reordered: DELAYED,
  delayed: DELAYED,
  throttled: {},
  conflict: {},
  stale: { changesAgo: true },
  "item-gone": {},
  misconfigured: { error: true },
};

const NUMBERS = ["delayMs", "unknownAfterMs", "retryAfterMs", "changesAgo"];

/**
 * Refuses a fault that does not exist, for the same reason, an option that no fault has, and a value that would
 * inject nothing, such as a delay of `"8s"`. `known` has the faults of the kit.
 */
export function checkFault(fault: unknown, known: KnownFaults = FAULTS): void {
  const given = (fault ?? {}) as Readonly<Record<string, unknown>>;
  const kind = given["fault"];
  checkKind(kind, known);
  const options = known[kind as string] ?? {};
  // A script may give all its faults the same options.
  const names = ["fault", ...Object.values(known).flatMap((all) => Object.keys(all))];
  for (const [name, value] of Object.entries(given)) {
    checkName(`option of the fault "${kind}"`, name, [...new Set(names)]);
    if (NUMBERS.includes(name) && value !== undefined) checkNumber(kind, name, value);
  }
  for (const [name, allowed] of Object.entries(options)) {
    const value = given[name];
    if (name === "delayMs") checkNumber(kind, name, value);
    if (allowed !== true && value !== undefined) {
      checkName(`\`${name}\` of the fault "${kind}"`, value, allowed);
    }
  }
  if (kind !== "misconfigured" || given["error"] !== undefined) return;
  throw new HoldfastError("invalid-argument", 'The fault "misconfigured" needs an `error`.');
}

function checkNumber(kind: unknown, name: string, value: unknown): void {
  if (Number.isFinite(value) && (value as number) >= 0) return;
  throw new HoldfastError(
    "invalid-argument",
    `\`${name}\` of the fault "${kind}" must be a finite number of at least 0; it is ${valueText(value)}.`,
  );
}

function checkKind(kind: unknown, known: KnownFaults): void {
  checkName("fault", kind, Object.keys(known));
}

/** Refuses a kind of request that does not exist: its fault would never happen. */
export function checkRequestKind(kind: unknown): void {
  checkName("kind of request", kind, [...Object.keys(NO_REQUESTS), "any"]);
}

/** Refuses what is no port of a table or of a bucket; `method`: a method of such a port. */
export function checkPort(what: string, port: unknown, method: string): void {
  if (typeof (port as Record<string, unknown> | null | undefined)?.[method] === "function") return;
  throw new HoldfastError(
    "invalid-argument",
    `The first argument of ${what} must be what receives the requests, with a method \`${method}\`; it is ${valueText(port)}.`,
  );
}

/** Refuses a name that is none of the known ones. */
export function checkName(what: string, found: unknown, known: readonly string[]): void {
  if (known.includes(found as string)) return;
  throw new HoldfastError(
    "invalid-argument",
    `There is no ${what} ${valueText(found)}. There are ${known.join(", ")}.`,
  );
}

/** Refuses probabilities of unknown faults, and those that cannot be probabilities. */
export function checkProbabilities(
  faults: Readonly<Record<string, number>>,
  known: KnownFaults = FAULTS,
): void {
  for (const kind of Object.keys(faults)) checkKind(kind, known);
  const all = Object.values(faults);
  const total = all.reduce((sum, probability) => sum + probability, 0);
  if (total <= 1 && all.every((probability) => probability >= 0)) return;
  throw new HoldfastError(
    "invalid-argument",
    `Probabilities are at least 0 and together at most 1; they are together ${total}.`,
  );
}

/** A script that draws a random fault, or no fault, for each request. */
export function randomFaults(random: SeededRandom, probabilities: FaultProbabilities): FaultScript {
  const entries = Object.entries(probabilities.faults) as [
    keyof FaultProbabilities["faults"],
    number,
  ][];
  checkProbabilities(probabilities.faults);
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
  // A client notices a broken connection at once, and a silent connection at the call's timeout: both happen.
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
