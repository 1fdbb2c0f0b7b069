import { checkFault, type KnownFaults } from "../faults/fault-plan.js";
import {
  accessDenied,
  conflict,
  internalError,
  type JsonBody,
  THROTTLE_ERRORS,
  type ThrottleError,
  throttled,
  type WireAnswer,
} from "./proxy-messages.js";

/** A fault of one request. `hang` sends nothing more and keeps the connection open. */
export type ProxyFault =
  /** Not forwarded. `how` defaults to `reset`. */
  | { readonly fault: "request-lost"; readonly how?: "reset" | "hang" }
  /** Forwarded, and the answer dropped; `internal-error` answers 500 instead. Default `reset`. */
  | { readonly fault: "response-lost"; readonly how?: "reset" | "hang" | "internal-error" }
  /** Forwarded after `delayMs`; the client's connection is reset (default) or hangs from now on. */
  | { readonly fault: "applied-late"; readonly delayMs: number; readonly how?: "reset" | "hang" }
  /** Forwarded at once, and answered `delayMs` after the answer came. */
  | { readonly fault: "delayed"; readonly delayMs: number }
  /** Not forwarded: a 400 of this name, default `ThrottlingException`. */
  | { readonly fault: "throttled"; readonly error?: ThrottleError }
  /** Not forwarded: a `TransactionConflictException`, or a transaction cancelled for this reason. */
  | { readonly fault: "conflict" }
  /** Not forwarded: a 500. */
  | { readonly fault: "internal-error" }
  /** Not forwarded: an `AccessDeniedException`. */
  | { readonly fault: "access-denied" }
  /**
   * Not forwarded: an eventually consistent `GetItem` gets the last answer to an equal request. Without an
   * earlier answer, or for a consistent read, the request fails with `FaultProxyMisuse`.
   */
  | { readonly fault: "stale" }
  /**
   * Forwarded, and half of the answer's body sent. `cut` (default) breaks the connection in the middle;
   * `halved` sends the half as a complete body.
   */
  | { readonly fault: "truncated"; readonly how?: "cut" | "halved" };

const CUTTING = { how: ["reset", "hang"] } as const;
const FAULTS: KnownFaults<ProxyFault["fault"]> = {
  "request-lost": CUTTING,
  "response-lost": { how: [...CUTTING.how, "internal-error"] },
  "applied-late": { delayMs: true, ...CUTTING },
  delayed: { delayMs: true },
  throttled: { error: THROTTLE_ERRORS },
  conflict: {},
  "internal-error": {},
  "access-denied": {},
  stale: {},
  truncated: { how: ["cut", "halved"] },
};

/** The name of a fault; `partition` for a request during a partition. */
export type ProxyFaultKind = ProxyFault["fault"] | "partition";

/** One request that reached the proxy. SDK retries are separate requests. */
export interface SeenRequest {
  /** The operation, such as `UpdateItem`; empty for a request to another service. */
  readonly operation: string;
  /** The number of the request among requests of this operation, from 1. */
  readonly ordinal: number;
  /** The body from the client; undefined if not a JSON object. */
  readonly body: JsonBody | undefined;
  /** The injected fault. */
  readonly fault: ProxyFaultKind | undefined;
  /** The status sent to the client, if answered. */
  readonly status: number | undefined;
  /** The status from the target, if the target answered. */
  readonly targetStatus: number | undefined;
  /** The consumed capacity units that the target reported. */
  readonly consumedUnits: number | undefined;
}

/** The faults that answer without the target. */
type Refusal = Extract<
  ProxyFault,
  { readonly fault: "throttled" | "conflict" | "internal-error" | "access-denied" }
>;

/** The answer to the client in place of the target's. */
export function answerInstead(fault: Refusal, request: SeenRequest): WireAnswer {
  switch (fault.fault) {
    case "throttled":
      return throttled(fault.error ?? "ThrottlingException");
    case "conflict":
      return conflict(request.body);
    case "internal-error":
      return internalError();
    case "access-denied":
      return accessDenied(request.operation);
  }
}

/** Decides the fault of one request; `ordinal` counts requests of the same operation from 1. */
export type ProxyScript = (request: SeenRequest, ordinal: number) => ProxyFault | undefined;

/** The requests for a fault: an operation, `"any"`, or a predicate. */
export type ProxyMatch = string | ((request: SeenRequest) => boolean);

interface Planned {
  readonly match: ProxyMatch;
  readonly fault: ProxyFault;
  left: number;
}

/** Chooses faults: first faults queued for the next requests, then the script. */
export class ProxyPlan {
  readonly #queued: Planned[] = [];
  script: ProxyScript | undefined;

  queue(match: ProxyMatch, fault: ProxyFault, times: number): void {
    checkFault(fault, FAULTS);
    if (times > 0) this.#queued.push({ match, fault, left: times });
  }

  clear(): void {
    this.#queued.length = 0;
    this.script = undefined;
  }

  faultFor(request: SeenRequest): ProxyFault | undefined {
    const index = this.#queued.findIndex(({ match }) =>
      typeof match === "string" ? match === "any" || match === request.operation : match(request),
    );
    const planned = this.#queued[index];
    if (planned === undefined) {
      const scripted = this.script?.(request, request.ordinal);
      if (scripted !== undefined) checkFault(scripted, FAULTS);
      return scripted;
    }
    planned.left -= 1;
    if (planned.left <= 0) this.#queued.splice(index, 1);
    return planned.fault;
  }
}
