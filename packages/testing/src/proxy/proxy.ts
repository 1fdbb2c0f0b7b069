import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { HoldfastError, isHoldfastError } from "holdfast";
import {
  type Clock,
  checkNames,
  type OptionNames,
  systemClock,
  systemTimers,
  type Timers,
} from "holdfast/internal";
import { ProxyLog, type Recorded } from "./proxy-log.js";
import {
  asksForCapacity,
  consumedUnits,
  errorAnswer,
  internalError,
  readIdentity,
  type WireAnswer,
  type WireHeaders,
  type WireRequest,
  wholeBody,
} from "./proxy-messages.js";
import { answerHeaders, ProxyNetwork } from "./proxy-network.js";
import {
  answerInstead,
  type ProxyFault,
  type ProxyFaultKind,
  type ProxyMatch,
  ProxyPlan,
  type ProxyScript,
  type SeenRequest,
} from "./proxy-plan.js";

/** How a fault proxy is started. */
export interface FaultProxyOptions {
  /** The endpoint of the server, such as `http://127.0.0.1:8000`. Plain HTTP only. */
  readonly target: string;
  /** The port to listen on at 127.0.0.1; default 0 for any free port. */
  readonly port?: number;
  /** Adds a request for consumed capacity to requests without. Default false. */
  readonly addsConsumedCapacity?: boolean;
  /** The timers of delays; default this machine's timers. */
  readonly timers?: Timers;
  /** The clock of a shifted `Date` header; default this machine's clock. */
  readonly clock?: Clock;
}

const NAMES: OptionNames<FaultProxyOptions> = {
  target: true,
  port: true,
  addsConsumedCapacity: true,
  timers: true,
  clock: true,
};

interface Exchange {
  readonly request: WireRequest;
  readonly recorded: Recorded;
  readonly response: ServerResponse;
}

/**
 * An HTTP proxy that injects network faults between the real SDK and a real endpoint. Loses, delays and answers
 * requests by plan, and logs every request. Create a proxy with `startFaultProxy`.
 *
 * The proxy rewrites requests, so their signatures become invalid. The target must not check signatures, as
 * local servers do not. Without a plan the proxy changes nothing else.
 */
export class FaultProxy {
  /** How far the `Date` header of answers is shifted, in milliseconds; default 0. */
  dateShiftMs = 0;
  /** The port of the proxy. */
  readonly port: number;

  readonly #options: FaultProxyOptions;
  readonly #server: Server;
  readonly #network: ProxyNetwork;
  readonly #plan = new ProxyPlan();
  readonly #log = new ProxyLog();
  readonly #work = new Set<Promise<void>>();
  readonly #lastReads = new Map<string, WireAnswer>();
  #closing: Promise<void> | undefined;

  /** For `startFaultProxy`, which creates proxies. The server must already listen. */
  constructor(options: FaultProxyOptions, server: Server) {
    this.#options = options;
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    this.#network = new ProxyNetwork(options.target, options.timers ?? systemTimers);
    server.on("request", (incoming, response) => this.#accept(incoming, response));
  }

  /** The endpoint for the SDK. */
  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Every request so far, in order of arrival. Entries are completed while their requests are served. */
  get requests(): readonly SeenRequest[] {
    return this.#log.requests;
  }

  /** How many requests of an operation there were, or of all. */
  count(operation?: string): number {
    return this.#log.count(operation);
  }

  /** How many requests had this fault injected. */
  injected(fault: ProxyFaultKind): number {
    return this.#log.injected(fault);
  }

  /** Empties the list of requests. Ordinals begin anew. */
  forgetRequests(): void {
    this.#log.clear();
  }

  /**
   * Injects this fault into the next matching request, or into the next `times` (default 1) requests. `match`
   * is an operation, `"any"`, or a predicate over the request and its parsed body.
   */
  next(match: ProxyMatch, fault: ProxyFault, times = 1): void {
    this.#plan.queue(match, fault, times);
  }

  /** Sets the script for requests without a queued fault; undefined removes the script. */
  script(script: ProxyScript | undefined): void {
    this.#plan.script = script;
  }

  /** Ends all faults for later requests. A partition lasts until `heal()`. */
  clear(): void {
    this.#plan.clear();
  }

  /** Partitions the network: new requests, and requests and answers in flight, hang until `heal()`. */
  partition(): void {
    this.#network.partition();
  }

  /**
   * Ends the partition. Held traffic is lost and its connections are reset. With `delivers`, held traffic
   * arrives now instead, as after a short cut that TCP bridges, even if the client has timed out.
   */
  heal(options: { readonly delivers?: boolean } = {}): void {
    const { delivers = false } = checkNames("heal()", options, { delivers: "flag" });
    this.#network.heal(delivers);
  }

  /** Resolves when no request is in flight: delayed, late, or held by a partition. */
  async settled(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
  }

  /** Stops the proxy: late requests are never forwarded, and hanging connections are cut. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    this.#network.close();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
    await this.settled();
  }

  #accept(incoming: IncomingMessage, response: ServerResponse): void {
    // A broken connection is an intended fault of the proxy, never an error.
    const work = this.#serve(incoming, response).catch(() => hangUp(response, "reset"));
    this.#work.add(work);
    work.then(() => this.#work.delete(work));
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "POST", url = "/", headers } = incoming;
    const request = { method, path: url, headers, body: await wholeBody(incoming) };
    const recorded = this.#log.add(request);
    const exchange = { request, recorded, response };
    if (this.#network.partitioned) {
      recorded.fault = "partition";
      return this.#answer(exchange, await this.#forward(exchange));
    }
    try {
      const fault = this.#faultFor(recorded);
      recorded.fault = fault?.fault;
      if (fault === undefined) await this.#answer(exchange, await this.#forward(exchange));
      else await this.#inject(exchange, fault);
    } catch (error) {
      if (!isHoldfastError(error, "invalid-argument")) throw error;
      // The test must see an impossible plan, and only the client can report the error.
      recorded.fault = undefined;
      await this.#answer(exchange, errorAnswer(400, "FaultProxyMisuse", error.message));
    }
  }

  #faultFor(recorded: SeenRequest): ProxyFault | undefined {
    try {
      return this.#plan.faultFor(recorded);
    } catch (error) {
      throw misuse(`The plan threw: ${String(error)}`);
    }
  }

  async #inject(exchange: Exchange, fault: ProxyFault): Promise<void> {
    const { response, recorded } = exchange;
    switch (fault.fault) {
      case "request-lost":
        return hangUp(response, fault.how);
      case "response-lost":
        await this.#forward(exchange);
        if (fault.how === "internal-error") return this.#answer(exchange, internalError());
        return hangUp(response, fault.how);
      case "applied-late":
        hangUp(response, fault.how);
        await this.#network.delay(fault.delayMs);
        await this.#forward(exchange);
        return;
      case "delayed": {
        const answer = await this.#forward(exchange);
        await this.#network.delay(fault.delayMs);
        return this.#answer(exchange, answer);
      }
      case "truncated":
        return this.#answerHalf(exchange, await this.#forward(exchange), fault.how ?? "cut");
      case "stale":
        return this.#answerStale(exchange);
      default:
        return this.#answer(exchange, answerInstead(fault, recorded));
    }
  }

  /** Lets the target carry the request out. Rejects if the target cannot be reached. */
  async #forward(exchange: Exchange): Promise<WireAnswer> {
    const { recorded, request } = exchange;
    const { operation } = recorded;
    const answer = await this.#network.forward(
      this.#options.addsConsumedCapacity ? asksForCapacity(operation, request) : request,
    );
    recorded.targetStatus = answer.status;
    recorded.consumedUnits = consumedUnits(answer);
    const isRead = operation === "GetItem" && answer.status === 200;
    if (isRead) this.#lastReads.set(readIdentity(recorded.body), answer);
    return answer;
  }

  async #answer(exchange: Exchange, answer: WireAnswer): Promise<void> {
    await this.#network.pass();
    const { response, recorded } = exchange;
    // A client that gave up in the meantime gets no answer.
    if (response.destroyed) return;
    recorded.status = answer.status;
    response.writeHead(answer.status, this.#headers(answer)).end(answer.body);
  }

  async #answerHalf(exchange: Exchange, answer: WireAnswer, how: "cut" | "halved"): Promise<void> {
    const half = answer.body.subarray(0, Math.floor(answer.body.length / 2));
    if (how === "halved") return this.#answer(exchange, { ...answer, body: half });
    await this.#network.pass();
    const { response } = exchange;
    if (response.destroyed) return;
    response.writeHead(answer.status, this.#headers(answer));
    // Closes the connection without a reset, because the client could lose the sent half to a reset.
    response.write(half, () => response.destroy());
  }

  async #answerStale(exchange: Exchange): Promise<void> {
    const { operation, body } = exchange.recorded;
    if (operation !== "GetItem" || body?.["ConsistentRead"] === true) {
      throw misuse("Only an eventually consistent GetItem can be stale.");
    }
    const answer = this.#lastReads.get(readIdentity(body));
    if (answer === undefined) throw misuse("There was no read like this one before.");
    await this.#answer(exchange, answer);
  }

  #headers(answer: WireAnswer): WireHeaders {
    const nowMs = (this.#options.clock ?? systemClock).wallMs();
    return answerHeaders(answer, this.dateShiftMs === 0 ? undefined : nowMs + this.dateShiftMs);
  }
}

/**
 * Starts a proxy on 127.0.0.1 and resolves when the proxy listens. Close the proxy at the end of the test,
 * because an open proxy keeps Node.js running. Rejects with `invalid-argument` for a target that is not plain
 * HTTP, and with the system's error for a port in use.
 */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const { target } = checkNames("startFaultProxy()", options, NAMES);
  if (!URL.canParse(target) || new URL(target).protocol !== "http:") {
    throw misuse(`The target of a fault proxy is an http: URL, not ${target}.`);
  }
  const server = createServer();
  // A connection closed for idleness would be a fault that the test did not inject.
  Object.assign(server, { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  return new FaultProxy(options, server);
}

function hangUp(response: ServerResponse, how: "reset" | "hang" = "reset"): void {
  if (how === "reset") response.socket?.resetAndDestroy();
}

function misuse(message: string): HoldfastError {
  return new HoldfastError("invalid-argument", message);
}
