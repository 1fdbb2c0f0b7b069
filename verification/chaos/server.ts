import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { DynamoDBLocal, DynamoDBLocalOptions } from "../../scripts/dynamodb-local/server.mjs";

export type StartServer = (options: DynamoDBLocalOptions) => Promise<DynamoDBLocal>;

/** DynamoDB Local, which can be killed and restarts on the same port with the same data. */
export class Server {
  readonly #start: StartServer;
  readonly #port: number;
  readonly #dbPath: string;
  #running: DynamoDBLocal | undefined;

  private constructor(start: StartServer, port: number, dbPath: string) {
    this.#start = start;
    this.#port = port;
    this.#dbPath = dbPath;
  }

  static async open(start: StartServer, port: number, directory: string): Promise<Server> {
    const dbPath = join(directory, "db");
    mkdirSync(dbPath);
    const server = new Server(start, port, dbPath);
    await server.begin();
    return server;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  async begin(): Promise<void> {
    this.#running = await this.#start({ port: this.#port, dbPath: this.#dbPath });
  }

  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.kill();
  }
}

const FIRST_PORT = 21_000;
const LAST_PORT = 31_999;

/**
 * Returns an unused port below the range for outgoing connections. A client which connects to an unused port within
 * this range may be connected to itself, and then the port is taken when its server restarts.
 */
export async function freshPort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, () => probe.close(() => resolve(true)));
  });
}
