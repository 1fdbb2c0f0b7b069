import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { LeanClient } from "../../src/lean/lean.js";
import { VirtualTime } from "../../src/testing/time/virtual-time.js";
import { pause } from "./sdk.js";
import { LEAN_WAY, type Way } from "./ways.js";

// Short against every lease and timeout, so that none is over before an answer that is there is read.
const STEP_MS = 5;

/**
 * Virtual time for clients that talk to a real server: it stands still while a request is on its way, however
 * long a busy machine takes for it, and passes only where the clients wait for nothing else.
 */
export class Traffic {
  readonly time = new VirtualTime({ wallStartMs: Date.now() });
  /** The clocks and timers of the clients. */
  readonly process = this.time.process();
  readonly #lostAnswers: () => number;
  #pending = 0;
  #toHang = 0;
  #hung = 0;
  #hanging = 0;

  /** `lostAnswers`: how many requests the server has carried out without an answer. */
  constructor(lostAnswers: () => number) {
    this.#lostAnswers = lostAnswers;
  }

  /** The same client, whose requests are counted from now on. */
  counted(client: DynamoDBClient): DynamoDBClient {
    const middleware = (next: (sent: object) => Promise<object>) => (sent: object) =>
      this.#count(() => next(sent));
    client.middlewareStack.add(middleware as never, { step: "initialize", name: "traffic" });
    return client;
  }

  /** A way over a client that is counted; lean requests are counted by themselves. */
  over(way: Way, client: DynamoDBClient): ReturnType<Way["over"]> {
    const made = way.over(client);
    if (way !== LEAN_WAY) return made;
    const lean = made as LeanClient;
    const open = lean.openSender.bind(lean);
    lean.openSender = (onDate) => {
      const send = open(onDate);
      return (...request) => this.#count(() => send(...request));
    };
    return lean;
  }

  /** The next requests, so many of them, are never answered, and only virtual time ends them. */
  willHang(times: number): void {
    this.#toHang = times;
  }

  /** Lets virtual time pass, while nothing is on its way, until the promise has settled. */
  readonly until = async <T>(promise: Promise<T>): Promise<T> => {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    promise.then(settle, settle);
    while (!isSettled) {
      if (this.#isQuiet) await this.time.advance(STEP_MS);
      else await pause(1);
    }
    return promise;
  };

  get #isQuiet(): boolean {
    // What hangs was carried out: given up before, it would be another fault.
    return this.#pending === this.#hanging && this.#lostAnswers() >= this.#hung;
  }

  async #count<T>(send: () => Promise<T>): Promise<T> {
    const hangs = this.#toHang > 0 ? 1 : 0;
    this.#toHang -= hangs;
    this.#hung += hangs;
    this.#hanging += hangs;
    this.#pending += 1;
    try {
      return await send();
    } finally {
      this.#pending -= 1;
      this.#hanging -= hangs;
    }
  }
}
