import { request } from "node:http";
import type { ServeOptions } from "../../src/serve/serve.js";
import { startServing } from "../../src/serve/serve.js";
import type { PageServer, ServerLimits } from "../../src/serve/server.js";
import { CliWorld } from "../support.js";

export const TOKEN = "a-token-for-tests-only";

/** An answer of the page's server. */
export interface Reply {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A table in memory, and the page's server over it. */
export class ServeWorld {
  readonly cli: CliWorld;
  readonly server: PageServer;

  private constructor(cli: CliWorld, server: PageServer) {
    this.cli = cli;
    this.server = server;
  }

  static async start(options: ServeOptions = {}, limits?: ServerLimits): Promise<ServeWorld> {
    const cli = await CliWorld.start();
    const all = { table: "locks", refresh: "500ms", token: TOKEN, ...options };
    return new ServeWorld(cli, await startServing(cli.locks, all, limits));
  }

  /** Sends a request with the right token and host, unless the headers say otherwise. */
  send(
    path: string,
    {
      method = "GET",
      headers = {},
      body,
    }: { method?: string; headers?: Record<string, string>; body?: unknown } = {},
  ): Promise<Reply> {
    const { port } = this.server;
    const all = { authorization: `Bearer ${TOKEN}`, ...headers };
    return new Promise((resolve, reject) => {
      const asked = request({ host: "127.0.0.1", port, path, method, headers: all }, (response) => {
        let text = "";
        response.on("data", (chunk) => {
          text += String(chunk);
        });
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers }),
        );
      });
      asked.on("error", reject);
      asked.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  async close(): Promise<void> {
    await this.server.close();
    await this.cli.close();
  }
}
