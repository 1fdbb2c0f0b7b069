import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type Clock, systemClock } from "../../platform/clock.js";
import { httpDate, operationOf, wholeBody } from "../proxy/proxy-messages.js";
import { MemoryDynamoDB } from "./memory-dynamodb.js";
import { answerHttp } from "./wire.js";

/** How to start a server. */
export interface MemoryServerOptions {
  /** Left out: any that is free. */
  readonly port?: number;
  /** What the table takes for the time, also in the `Date` of its answers. Left out: this machine's clock. */
  readonly clock?: Pick<Clock, "wallMs">;
}

/** A server that runs. */
export interface MemoryServer {
  /** For the SDK's `endpoint`. */
  readonly endpoint: string;
  /** What answers: to look into it, or to let items expire. */
  readonly dynamodb: MemoryDynamoDB;
  /** Ends every connection and frees the port; doing so twice is harmless. */
  close(): Promise<void>;
}

/** Longer than a test pauses between two requests, so that a connection is not closed under a client. */
const KEEP_ALIVE_MS = 60_000;

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      const address = server.address();
      if (address === null || typeof address === "string") {
        reject(new Error("The server has no port."));
      } else {
        resolve(address.port);
      }
    });
  });
}

function send(
  response: ServerResponse,
  status: number,
  headers: { readonly [name: string]: string },
  body: Buffer,
): void {
  response.writeHead(status, headers);
  response.end(body);
}

/**
 * DynamoDB in memory behind HTTP on the loopback, for programs that are not TypeScript or run in a process
 * of their own. Whoever can reach the loopback may do anything: signatures are not looked at.
 */
export async function startMemoryServer(options: MemoryServerOptions = {}): Promise<MemoryServer> {
  const clock = options.clock ?? systemClock;
  const dynamodb = new MemoryDynamoDB({ nowMs: () => clock.wallMs() });
  let requests = 0;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await wholeBody(request);
    requests += 1;
    const date = httpDate(clock.wallMs());
    if (request.method !== "POST") {
      return send(response, 200, { date, "content-type": "text/plain" }, Buffer.from("healthy"));
    }
    const operation = operationOf(request.headers);
    const made = answerHttp(dynamodb, { operation, body }, `memory-${requests}`, date);
    send(response, made.status, made.headers, made.body);
  };

  const server = createServer((request, response) => {
    // A request that breaks off, or a fault of the engine: the client sees a broken connection.
    answer(request, response).catch((fault: unknown) => {
      response.destroy(fault instanceof Error ? fault : undefined);
    });
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const port = await listen(server, options.port ?? 0);

  const close = (): Promise<void> =>
    new Promise((resolve) => {
      // Closing a server that is closed already is reported as an error, and is none here.
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { endpoint: `http://127.0.0.1:${port}`, dynamodb, close };
}
