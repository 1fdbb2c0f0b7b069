import { operationOf, parsedBody, type WireRequest } from "./proxy-messages.js";
import type { ProxyFaultKind, SeenRequest } from "./proxy-plan.js";

/** A request in the log that is still being served. */
export type Recorded = { -readonly [Name in keyof SeenRequest]: SeenRequest[Name] };

/** The log of requests that a fault proxy received. */
export class ProxyLog {
  readonly #requests: Recorded[] = [];
  readonly #ordinals = new Map<string, number>();

  get requests(): readonly SeenRequest[] {
    return this.#requests;
  }

  add(request: WireRequest): Recorded {
    const operation = operationOf(request.headers);
    const ordinal = (this.#ordinals.get(operation) ?? 0) + 1;
    this.#ordinals.set(operation, ordinal);
    const recorded: Recorded = {
      operation,
      ordinal,
      body: parsedBody(request.body),
      fault: undefined,
      status: undefined,
      targetStatus: undefined,
      consumedUnits: undefined,
    };
    this.#requests.push(recorded);
    return recorded;
  }

  count(operation: string | undefined): number {
    if (operation === undefined) return this.#requests.length;
    return this.#requests.filter((request) => request.operation === operation).length;
  }

  injected(fault: ProxyFaultKind): number {
    return this.#requests.filter((request) => request.fault === fault).length;
  }

  clear(): void {
    this.#requests.length = 0;
    this.#ordinals.clear();
  }
}
