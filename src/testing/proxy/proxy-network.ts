import { Agent, request as openRequest } from "node:http";
import { HoldfastError } from "../../errors.js";
import type { Timer, Timers } from "../../platform/timers.js";
import {
  httpDate,
  type WireAnswer,
  type WireHeaders,
  type WireRequest,
  wholeBody,
} from "./proxy-messages.js";

/** Something that waits, and is told whether it may still go on. */
type Waiting = (goesOn: boolean) => void;

// The proxy has its own connections on both sides, and says itself how long a body is.
const OWN_HEADERS = ["connection", "content-length", "host", "keep-alive", "transfer-encoding"];

/** The headers without those that are about one connection only. */
function endToEndHeaders(headers: WireHeaders): WireHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !OWN_HEADERS.includes(name)),
  );
}

/** The headers of an answer for the client; with `dateMs` (milliseconds since 1970), of that date. */
export function answerHeaders(answer: WireAnswer, dateMs: number | undefined): WireHeaders {
  const date = dateMs === undefined ? {} : { date: httpDate(dateMs) };
  const length = { "content-length": String(answer.body.length) };
  return { ...endToEndHeaders(answer.headers), ...length, ...date };
}

/** The way from the proxy to its target, which can be slow, or cut. */
export class ProxyNetwork {
  readonly #target: string;
  readonly #timers: Timers;
  // A connection kept open may be closed by the target just as it is used: a fault nobody injected.
  readonly #agent = new Agent({ keepAlive: false });
  readonly #delays = new Map<Waiting, Timer>();
  readonly #held = new Set<Waiting>();
  #partitioned = false;
  #closed = false;

  constructor(target: string, timers: Timers) {
    this.#target = target;
    this.#timers = timers;
  }

  get partitioned(): boolean {
    return this.#partitioned;
  }

  partition(): void {
    this.#partitioned = true;
  }

  /** Ends the partition; what hung arrives now, or is lost. */
  heal(delivers: boolean): void {
    this.#partitioned = false;
    for (const goOn of this.#held) goOn(delivers);
    this.#held.clear();
  }

  /** Ends all that is under way, and all that is still to come. */
  close(): void {
    this.#closed = true;
    this.heal(false);
    for (const [goOn, timer] of this.#delays) {
      timer.cancel();
      goOn(false);
    }
    this.#delays.clear();
    this.#agent.destroy();
  }

  /** Resolves as soon as something can pass; rejects if it was lost. */
  async pass(): Promise<void> {
    while (this.#partitioned) await this.#unlessLost((goOn) => this.#held.add(goOn));
    if (this.#closed) throw lost();
  }

  /** Resolves after this many milliseconds; rejects if it was lost. */
  async delay(delayMs: number): Promise<void> {
    if (this.#closed) throw lost();
    await this.#unlessLost((goOn) => {
      const timer = this.#timers.set(delayMs, true, () => {
        this.#delays.delete(goOn);
        goOn(true);
      });
      this.#delays.set(goOn, timer);
    });
  }

  /** Sends a request to the target, and resolves with its answer; rejects if there is none. */
  async forward(request: WireRequest): Promise<WireAnswer> {
    await this.pass();
    const { method, path, body } = request;
    const headers = { ...endToEndHeaders(request.headers), "content-length": String(body.length) };
    const options = { method, headers, agent: this.#agent };
    return new Promise((resolve, reject) => {
      const outgoing = openRequest(new URL(path, this.#target), options);
      outgoing.once("error", reject);
      outgoing.once("response", (incoming) => {
        const { statusCode: status = 502, headers } = incoming;
        wholeBody(incoming).then((whole) => resolve({ status, headers, body: whole }), reject);
      });
      outgoing.end(body);
    });
  }

  async #unlessLost(begin: (goOn: Waiting) => void): Promise<void> {
    const goesOn = await new Promise<boolean>(begin);
    if (!goesOn) throw lost();
  }
}

function lost(): HoldfastError {
  return new HoldfastError("closed", "The connection was lost in the fault proxy.");
}
