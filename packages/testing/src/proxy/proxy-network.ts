import { Agent, request as openRequest } from "node:http";
import { HoldfastError } from "holdfast";
import type { Timer, Timers } from "holdfast/internal";
import {
  httpDate,
  type WireAnswer,
  type WireHeaders,
  type WireRequest,
  wholeBody,
} from "./proxy-messages.js";

/** A pending wait; the argument says whether to continue or to fail. */
type Waiting = (goesOn: boolean) => void;

// The proxy has separate connections on both sides, and computes body lengths anew.
const OWN_HEADERS = ["connection", "content-length", "host", "keep-alive", "transfer-encoding"];

/** Removes the headers that concern only one connection. */
function endToEndHeaders(headers: WireHeaders): WireHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !OWN_HEADERS.includes(name)),
  );
}

/** The headers of an answer to the client. `dateMs` (milliseconds since 1970) replaces the `Date`. */
export function answerHeaders(answer: WireAnswer, dateMs: number | undefined): WireHeaders {
  const date = dateMs === undefined ? {} : { date: httpDate(dateMs) };
  const length = { "content-length": String(answer.body.length) };
  return { ...endToEndHeaders(answer.headers), ...length, ...date };
}

/** The network between proxy and target, which can be slow or partitioned. */
export class ProxyNetwork {
  readonly #target: string;
  readonly #timers: Timers;
  // The target may close an idle connection at the moment of reuse: a fault that the test did not inject.
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

  /** Ends the partition. Held requests arrive now, or are lost. */
  heal(delivers: boolean): void {
    this.#partitioned = false;
    for (const goOn of this.#held) goOn(delivers);
    this.#held.clear();
  }

  /** Fails all current and later traffic. */
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

  /** Resolves when traffic can pass; rejects if the traffic was lost. */
  async pass(): Promise<void> {
    while (this.#partitioned) await this.#unlessLost((goOn) => this.#held.add(goOn));
    if (this.#closed) throw lost();
  }

  /** Resolves after `delayMs`; rejects if the traffic was lost. */
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

  /** Sends a request to the target and resolves with the answer; rejects without an answer. */
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
