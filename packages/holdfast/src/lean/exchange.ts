import type { Dispatcher } from "undici";
import type { SignalLike } from "../platform/abort.js";

/** An answer in wire form. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

// DynamoDB's longest answer is 16 MB, from BatchGetItem; in JSON with base64 and escapes it can be longer by half.
const MOST_BYTES = 24 * 2 ** 20;
const TOO_LONG = "The answer is longer than any answer of DynamoDB.";

/** Sends one request and returns its answer. The signal aborts the request at any stage. */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  signal: SignalLike,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    dispatcher.dispatch(request, new Exchange(signal, resolve, reject));
  });
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #signal: SignalLike;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: Answer["headers"] = {};

  constructor(
    signal: SignalLike,
    resolve: (answer: Answer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
    signal.addEventListener("abort", this.#abort);
  }

  // A request that was aborted while waiting for a connection must not be sent later.
  readonly #abort = (): void => this.#controller?.abort(this.#signal.reason as Error);

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#signal.aborted) this.#abort();
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Answer["headers"],
  ): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MOST_BYTES) controller.abort(new Error(TOO_LONG));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#signal.removeEventListener("abort", this.#abort);
    const [first] = this.#chunks;
    const isWhole = first !== undefined && this.#chunks.length === 1;
    const body = isWhole ? first : Buffer.concat(this.#chunks);
    this.#resolve({ status: this.#status, headers: this.#headers, text: body.toString("utf8") });
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#signal.removeEventListener("abort", this.#abort);
    this.#reject(error);
  }
}
