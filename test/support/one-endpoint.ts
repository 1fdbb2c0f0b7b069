import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";

/** The properties of a request, for predicates that hold requests. */
export interface Passing {
  readonly method: string;
  readonly path: string;
  readonly isTable: boolean;
}

/**
 * An object store and a table at one address, as the crate needs them. The target header of a DynamoDB request
 * distinguishes the two. Requests can be held, and answers lost.
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

  /** Holds the next matching request forever; resolves when the request has arrived. */
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
    // With the original host, which is signed.
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
