import { once } from "node:events";
import { createServer, request } from "node:http";

/**
 * A server before a table that refuses the requests of some access keys, as DynamoDB refuses expired credentials: the
 * server in memory checks no signature.
 */
export class CredentialsGate {
  readonly url: string;
  /** When the gate let a request of each access key pass, by this process's monotonic clock. */
  readonly passed: { readonly keyId: string; readonly atMs: number }[] = [];
  /** Whether the credentials with this access key have not expired. */
  isValid: (keyId: string) => boolean = () => true;
  readonly #server: ReturnType<typeof createServer>;

  private constructor(server: ReturnType<typeof createServer>, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(endpoint: string): Promise<CredentialsGate> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("There is no port.");
    const gate = new CredentialsGate(server, address.port);
    const to = new URL(endpoint);
    server.on("request", (incoming, outgoing) => {
      const [, keyId = ""] =
        /Credential=([^/]+)\//.exec(incoming.headers.authorization ?? "") ?? [];
      if (!gate.isValid(keyId)) {
        incoming.resume();
        outgoing.writeHead(400, { "content-type": "application/x-amz-json-1.0" });
        outgoing.end(
          JSON.stringify({
            __type: "com.amazon.coral.service#ExpiredTokenException",
            message: "The security token included in the request is expired",
          }),
        );
        return;
      }
      gate.passed.push({ keyId, atMs: performance.now() });
      const { method, url: path, headers } = incoming;
      const options = { host: to.hostname, port: to.port, method, path, headers };
      const onward = request(options, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on("error", () => outgoing.destroy());
      incoming.pipe(onward);
    });
    return gate;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
