import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type Clock, checkNames, type OptionNames, systemClock } from "holdfast/internal";
import { httpDate, operationOf, wholeBody } from "../proxy/proxy-messages.js";
import { MemoryDynamoDB } from "./memory-dynamodb.js";
import { answerHttp } from "./wire.js";

/** How to start a server. */
export interface MemoryServerOptions {
  /** The port; default any free port. */
  readonly port?: number;
  /** The clock of the table and of the `Date` header. Default: this machine's clock. */
  readonly clock?: Pick<Clock, "wallMs">;
  /** The engine to serve, which has a clock of its own; default a new one. */
  readonly dynamodb?: MemoryDynamoDB;
}

const NAMES: OptionNames<MemoryServerOptions> = { port: true, clock: true, dynamodb: true };

/** A running server. */
export interface MemoryServer {
  /** For the SDK's `endpoint`. */
  readonly endpoint: string;
  /** The engine, for inspection or to delete expired items. */
  readonly dynamodb: MemoryDynamoDB;
  /** Ends every connection and frees the port; doing so twice is harmless. */
  close(): Promise<void>;
}

/** Longer than a test pauses between two requests, so that the server does not close a connection in use. */
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
 * Starts DynamoDB in memory behind HTTP on the loopback interface. For programs in other languages or in
 * separate processes. Every program with access to the loopback has full access: signatures are not checked.
 */
export async function startMemoryServer(options: MemoryServerOptions = {}): Promise<MemoryServer> {
  const { clock = systemClock } = checkNames("startMemoryServer()", options, NAMES);
  const dynamodb = options.dynamodb ?? new MemoryDynamoDB({ nowMs: () => clock.wallMs() });
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
    // After an aborted request or an engine fault the client sees a broken connection.
    answer(request, response).catch((fault: unknown) => {
      response.destroy(fault instanceof Error ? fault : undefined);
    });
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const port = await listen(server, options.port ?? 0);

  const close = (): Promise<void> =>
    new Promise((resolve) => {
      // Closing a closed server reports an error, which is harmless here.
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { endpoint: `http://127.0.0.1:${port}`, dynamodb, close };
}
