import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { LeanClient } from "../../packages/holdfast/src/lean/lean.js";
import type { Sender } from "../../packages/holdfast/src/platform/dynamodb/sender.js";
import { VirtualTime } from "../../packages/testing/src/time/virtual-time.js";
import { pause } from "./sdk.js";
import { LEAN_WAY, type Way } from "./ways.js";

// Short compared with every lease and timeout, so that none ends before an available answer is read.
const STEP_MS = 5;

/**
 * Virtual time for clients of a real server. Time stands still while a request is in flight, even on a slow
 * machine, and advances only while the clients wait for timers.
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

  /** The same client, with its later requests counted. */
  counted(client: DynamoDBClient): DynamoDBClient {
    const middleware = (next: (sent: object) => Promise<object>) => (sent: object) =>
      this.#count(() => next(sent));
    client.middlewareStack.add(middleware as never, { step: "initialize", name: "traffic" });
    return client;
  }

  /** A way over a counted client; lean requests are counted separately. */
  over(way: Way, client: DynamoDBClient): ReturnType<Way["over"]> {
    const made = way.over(client);
    if (way !== LEAN_WAY) return made;
    const lean = made as LeanClient;
    const open = lean.openSender.bind(lean);
    lean.openSender = () => {
      const send = open();
      const counted: Sender = (...request) => this.#count(() => send(...request));
      return Object.assign(counted, { tellsDate: true } as const);
    };
    return lean;
  }

  /** Leaves the next `times` requests without an answer, so that only virtual time ends them. */
  willHang(times: number): void {
    this.#toHang = times;
  }

  /** Advances virtual time, while no request is in flight, until the promise settles. */
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
    // A hanging request must have been applied: an earlier abort would be another fault.
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
