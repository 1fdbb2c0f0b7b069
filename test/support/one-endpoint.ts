import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";

/** What a request is about, for those who hold it up. */
export interface Passing {
  readonly method: string;
  readonly path: string;
  readonly isTable: boolean;
}

/**
 * An object store and a table under one address, as the crate wants them: by the header in which a request
 * to DynamoDB names its target. Requests can be held up on the way, and answers lost.
 */
export class OneEndpoint {
  readonly url: string;
  readonly #server: ReturnType<typeof createServer>;
  #isHeld: (passing: Passing) => boolean = () => false;
  #held: (() => void) | undefined;
  #isLost: (passing: Passing) => boolean = () => false;

  private constructor(server: ReturnType<typeof createServer>, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(storeUrl: string, tableUrl: string): Promise<OneEndpoint> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("There is no port.");
    const endpoint = new OneEndpoint(server, address.port);
    server.on("request", (incoming, outgoing) => {
      const isTable = incoming.headers["x-amz-target"] !== undefined;
      endpoint.#pass(isTable, new URL(isTable ? tableUrl : storeUrl), incoming, outgoing);
    });
    return endpoint;
  }

  /** Holds up the next request of this kind for ever; resolves when it has come. */
  holdNext(isHeld: (passing: Passing) => boolean): Promise<void> {
    this.#isHeld = isHeld;
    return new Promise((resolve) => {
      this.#held = resolve;
    });
  }

  /** Has these requests carried out from now on, and cuts the connection in the place of their answers. */
  loseAnswers(isLost: (passing: Passing) => boolean): void {
    this.#isLost = isLost;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  #pass(isTable: boolean, to: URL, incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method = "", url: path = "" } = incoming;
    const passing = { method, path, isTable };
    const isLost = this.#isLost(passing);
    if (this.#isHeld(passing)) {
      this.#isHeld = () => false;
      this.#held?.();
      return;
    }
    const options = { host: to.hostname, port: to.port, method, path, headers: incoming.headers };
    // With its host as it was sent: that is signed.
    const onward = request(options, (answer) => {
      if (isLost) {
        answer.resume();
        outgoing.destroy();
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    incoming.pipe(onward);
  }
}
