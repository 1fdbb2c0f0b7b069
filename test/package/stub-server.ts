import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** An answer of the stub; `hang` never answers. */
export type StubAnswer =
  | {
      readonly status: number;
      readonly body: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | "hang";

/** A request in wire form. */
export interface StubRequest {
  readonly operation: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The body in wire form. */
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A server on the loopback that gives every request the same answer, and counts. */
export class StubServer {
  readonly requests: StubRequest[] = [];
  answer: StubAnswer = { status: 500, body: {} };
  /** How many connections were opened so far. */
  connections = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const target = String(request.headers["x-amz-target"]);
        const text = Buffer.concat(chunks).toString("utf8");
        this.requests.push({
          operation: target.split(".")[1] ?? target,
          path: request.url ?? "",
          body: JSON.parse(text) as StubRequest["body"],
          text,
          headers: request.headers,
        });
        if (this.answer === "hang") return;
        const { status, body, headers } = this.answer;
        response.writeHead(status, { "content-type": "application/x-amz-json-1.0", ...headers });
        response.end(JSON.stringify(body));
      });
    });
  }

  static async start(): Promise<StubServer> {
    const stub = new StubServer();
    stub.#server.on("connection", () => {
      stub.connections += 1;
    });
    await new Promise<void>((resolve) => stub.#server.listen(0, "127.0.0.1", resolve));
    return stub;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}

/** A refusal in DynamoDB's form. */
export function refusal(code: string, details: object = {}): StubAnswer {
  const body = { __type: `com.amazonaws.dynamodb.v20120810#${code}`, message: code, ...details };
  return { status: 400, body };
}
