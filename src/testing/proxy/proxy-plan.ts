import {
  accessDenied,
  conflict,
  internalError,
  type JsonBody,
  type ThrottleError,
  throttled,
  type WireAnswer,
} from "./proxy-messages.js";

/** What the proxy can do to one request. `hang`: nothing more is said, and the connection stays open. */
export type ProxyFault =
  /** Not forwarded. `how` defaults to `reset`. */
  | { readonly fault: "request-lost"; readonly how?: "reset" | "hang" }
  /** Forwarded, and the answer dropped; `internal-error` puts a 500 in its place. Default `reset`. */
  | { readonly fault: "response-lost"; readonly how?: "reset" | "hang" | "internal-error" }
  /** Forwarded after `delayMs`; the client's connection is reset (default) or hangs from now on. */
  | { readonly fault: "applied-late"; readonly delayMs: number; readonly how?: "reset" | "hang" }
  /** Forwarded at once, and answered `delayMs` after the answer came. */
  | { readonly fault: "delayed"; readonly delayMs: number }
  /** Not forwarded: a 400 of this name, default `ThrottlingException`. */
  | { readonly fault: "throttled"; readonly error?: ThrottleError }
  /** Not forwarded: a `TransactionConflictException`, or a transaction cancelled for that reason. */
  | { readonly fault: "conflict" }
  /** Not forwarded: a 500. */
  | { readonly fault: "internal-error" }
  /** Not forwarded: an `AccessDeniedException`. */
  | { readonly fault: "access-denied" }
  /**
   * Not forwarded: an eventually consistent `GetItem` gets the answer that the last like it got. Where
   * there was none, or the read is consistent, the request fails with `FaultProxyMisuse`.
   */
  | { readonly fault: "stale" }
  /**
   * Forwarded, and half of the answer's body sent. `cut` (default): the connection breaks in the middle
   * of it; `halved`: the half is sent as if it were the whole.
   */
  | { readonly fault: "truncated"; readonly how?: "cut" | "halved" };

/** The name of a fault; `partition` for a request that came while the network was cut. */
export type ProxyFaultKind = ProxyFault["fault"] | "partition";

/** One request that reached the proxy. Retries of the SDK are requests of their own. */
export interface SeenRequest {
  /** `UpdateItem` and so on; empty for what is not a DynamoDB request. */
  readonly operation: string;
  /** Which request of this operation it was, from 1. */
  readonly ordinal: number;
  /** As the client sent it; undefined if it was not a JSON object. */
  readonly body: JsonBody | undefined;
  /** What was injected. */
  readonly fault: ProxyFaultKind | undefined;
  /** What the client was answered, if it was. */
  readonly status: number | undefined;
  /** What the target answered, if it was asked and did. */
  readonly targetStatus: number | undefined;
  /** The capacity units that the target said were consumed. */
  readonly consumedUnits: number | undefined;
}

/** The faults that are an answer which the target did not give. */
type Refusal = Extract<
  ProxyFault,
  { readonly fault: "throttled" | "conflict" | "internal-error" | "access-denied" }
>;

/** What the client is told instead of asking the target. */
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

/** Decides for one request; `ordinal` counts the requests of its operation, from 1. */
export type ProxyScript = (request: SeenRequest, ordinal: number) => ProxyFault | undefined;

/** Which requests a fault is for: an operation, any, or those for which the function says true. */
export type ProxyMatch = string | ((request: SeenRequest) => boolean);

interface Planned {
  readonly match: ProxyMatch;
  readonly fault: ProxyFault;
  left: number;
}

/** What is to go wrong: first what was queued for the next requests, then what the script says. */
export class ProxyPlan {
  readonly #queued: Planned[] = [];
  script: ProxyScript | undefined;

  queue(match: ProxyMatch, fault: ProxyFault, times: number): void {
    this.#queued.push({ match, fault, left: times });
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
    if (planned === undefined) return this.script?.(request, request.ordinal);
    planned.left -= 1;
    if (planned.left <= 0) this.#queued.splice(index, 1);
    return planned.fault;
  }
}
