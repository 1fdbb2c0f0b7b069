import type { HoldfastError } from "holdfast";
import {
  type Call,
  checkNames,
  type GetAnswer,
  type HeadAnswer,
  type ObjectCopy,
  type ObjectPort,
  type ObjectPut,
  type ObjectRemoval,
  type ObjectTrouble,
  type StoreAnswer,
  systemTimers,
} from "holdfast/internal";
import { exchange, type RequestHost, repeated, travel, unknown } from "../faults/exchange.js";
import {
  checkFault,
  checkName,
  checkPort,
  checkProbabilities,
  dequeue,
  type KnownFaults,
  type Planned,
} from "../faults/fault-plan.js";
import { type Latency, NO_LATENCY } from "../faults/faults.js";
import type { SeededRandom } from "../time/seeded-random.js";

/** A fault of one request to an object store. */
export type ObjectFault =
  /** Never arrives; unknown after `unknownAfterMs`, or at the call's timeout. */
  | { readonly fault: "request-lost"; readonly unknownAfterMs?: number }
  /** Carried out, and the answer never arrives. */
  | { readonly fault: "response-lost"; readonly unknownAfterMs?: number }
  /** Applied twice, as with a client that retries; the second answer arrives. */
  | { readonly fault: "response-lost-and-retried" }
  /** Applied after `delayMs` of true time; the caller never receives the answer. */
  | {
      readonly fault: "applied-late";
      readonly delayMs: number;
      readonly unknownAfterMs?: number;
    }
  /** Carried out at once; the answer takes `delayMs`. */
  | { readonly fault: "delayed"; readonly delayMs: number }
  /** Not carried out: too many requests, or another write of the object is under way. */
  | { readonly fault: "throttled" | "conflict" }
  /** Not carried out: answered with this error. */
  | { readonly fault: "misconfigured"; readonly error: HoldfastError };

/** The kinds of requests to an object store. */
export type ObjectRequestKind = keyof ObjectPort;

/** Decides the fault of one request; `ordinal` counts requests of the same kind from 1. */
export type ObjectFaultScript = (
  kind: ObjectRequestKind,
  key: string,
  ordinal: number,
) => ObjectFault | undefined;

/** How likely each fault is for any request, from 0 to 1. */
export interface ObjectFaultProbabilities {
  readonly faults: Partial<Record<Exclude<ObjectFault["fault"], "misconfigured">, number>>;
  /** Delays are spread evenly up to this many milliseconds. */
  readonly longestDelayMs: number;
}

const LOST = { unknownAfterMs: true } as const;
const FAULTS: KnownFaults<ObjectFault["fault"]> = {
  "request-lost": LOST,
  "response-lost": LOST,
  "response-lost-and-retried": {},
  "applied-late": { delayMs: true, ...LOST },
  delayed: { delayMs: true },
  throttled: {},
  conflict: {},
  misconfigured: { error: true },
};

/**
 * An object store behind an unreliable network, for one process; compare `FaultyTable`. Faults queued with
 * `next` come first, then the script, then random faults.
 */
export class FaultyObjects implements ObjectPort {
  readonly #objects: ObjectPort;
  readonly #host: RequestHost;
  readonly #latency: () => Latency;
  readonly #queued: Planned<ObjectRequestKind, ObjectFault>[] = [];
  #script: ObjectFaultScript | undefined;
  #random: (() => ObjectFault | undefined) | undefined;
  #requests: Readonly<Record<ObjectRequestKind, number>> = {
    head: 0,
    get: 0,
    put: 0,
    copy: 0,
    remove: 0,
  };
  #injected = 0;

  constructor(
    objects: ObjectPort,
    host: RequestHost = { timers: systemTimers },
    options: { readonly latency?: () => Latency } = {},
  ) {
    checkPort("FaultyObjects", objects, "put");
    checkNames("FaultyObjects", options, { latency: true });
    this.#objects = objects;
    this.#host = host;
    this.#latency = options.latency ?? (() => NO_LATENCY);
  }

  /** How many requests of each kind were made. */
  get requests(): Readonly<Record<ObjectRequestKind, number>> {
    return this.#requests;
  }

  /** How many faults were injected. */
  get injected(): number {
    return this.#injected;
  }

  /** Injects this fault into the next request of this kind, or into the next `times` requests. */
  next(kind: ObjectRequestKind, fault: ObjectFault, times = 1): void {
    checkName("kind of request", kind, Object.keys(this.#requests));
    checkFault(fault, FAULTS);
    if (times > 0) this.#queued.push({ kind, fault, left: times });
  }

  /** Sets the script that chooses the faults of later requests; undefined removes the script. */
  script(script: ObjectFaultScript | undefined): void {
    this.#script = script;
  }

  /** Injects faults by chance from now on; undefined: no longer. */
  random(random: SeededRandom, probabilities: ObjectFaultProbabilities | undefined): void {
    if (probabilities !== undefined) checkProbabilities(probabilities.faults, FAULTS);
    this.#random = probabilities && (() => drawn(random, probabilities));
  }

  /** Ends all faults for later requests. Requests in flight keep their faults. */
  clear(): void {
    this.#queued.length = 0;
    this.#script = undefined;
    this.#random = undefined;
  }

  head(key: string, call: Call): Promise<HeadAnswer> {
    return this.#send("head", key, call, (inner) => this.#objects.head(key, inner));
  }

  get(key: string, call: Call): Promise<GetAnswer> {
    return this.#send("get", key, call, (inner) => this.#objects.get(key, inner));
  }

  put(put: ObjectPut, call: Call): Promise<StoreAnswer> {
    return this.#send("put", put.key, call, (inner) => this.#objects.put(put, inner));
  }

  copy(copy: ObjectCopy, call: Call): Promise<StoreAnswer> {
    return this.#send("copy", copy.key, call, (inner) => this.#objects.copy(copy, inner));
  }

  remove(removal: ObjectRemoval, call: Call): Promise<StoreAnswer> {
    return this.#send("remove", removal.key, call, (inner) => this.#objects.remove(removal, inner));
  }

  async #send<A>(
    kind: ObjectRequestKind,
    key: string,
    call: Call,
    carryOut: (inner: Call) => Promise<A>,
  ): Promise<A | ObjectTrouble> {
    const fault = this.#plan(kind, key);
    const latency = this.#latency();
    return exchange<A>(this.#host, call, (reply, fail) => {
      const carry = (arrive: (answer: A) => void, slower: Partial<Latency> = {}): void => {
        const { requestMs, responseMs } = { ...latency, ...slower };
        travel(this.#host, requestMs, () => {
          // Without the caller's signal: a request already sent is not recalled by an abort.
          carryOut({ timeoutMs: call.timeoutMs }).then(
            (answer) => travel(this.#host, responseMs, () => arrive(answer)),
            fail,
          );
        });
      };
      if (fault === undefined) carry(reply);
      else this.#inject(fault, carry, reply);
    });
  }

  #plan(kind: ObjectRequestKind, key: string): ObjectFault | undefined {
    const ordinal = this.#requests[kind] + 1;
    this.#requests = { ...this.#requests, [kind]: ordinal };
    const planned = dequeue(this.#queued, kind) ?? this.#script?.(kind, key, ordinal);
    if (planned !== undefined) checkFault(planned, FAULTS);
    const fault = planned ?? this.#random?.();
    if (fault === undefined) return undefined;
    this.#injected += 1;
    return fault;
  }

  #inject<A>(
    fault: ObjectFault,
    carry: (arrive: (answer: A) => void, slower?: Partial<Latency>) => void,
    reply: (answer: A | ObjectTrouble) => void,
  ): void {
    if ("unknownAfterMs" in fault && fault.unknownAfterMs !== undefined) {
      travel(this.#host, fault.unknownAfterMs, () => reply(unknown("the connection was reset")));
    }
    switch (fault.fault) {
      case "request-lost":
        break;
      case "response-lost":
        carry(() => {});
        break;
      case "applied-late":
        carry(() => {}, { requestMs: fault.delayMs });
        break;
      case "response-lost-and-retried":
        carry(() => carry((answer) => reply(repeated(answer))));
        break;
      case "delayed":
        carry(reply, { responseMs: fault.delayMs });
        break;
      case "throttled":
      case "conflict":
        reply({ kind: fault.fault, cause: new Error(`injected: ${fault.fault}`) });
        break;
      case "misconfigured":
        reply({ kind: "misconfigured", error: fault.error });
    }
  }
}

function drawn(
  random: SeededRandom,
  { faults, longestDelayMs }: ObjectFaultProbabilities,
): ObjectFault | undefined {
  let left = random.fraction();
  const delayMs = random.fraction() * longestDelayMs;
  const noticed = random.chance(0.5) ? { unknownAfterMs: random.integer(0, 50) } : {};
  for (const [fault, probability] of Object.entries(faults)) {
    left -= probability;
    if (left >= 0) continue;
    return { fault, delayMs, ...noticed } as ObjectFault;
  }
  return undefined;
}
