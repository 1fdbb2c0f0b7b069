import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createTable, type Holdfast, type HoldfastOptions } from "../../src/index.js";
import { type MemoryServer, startMemoryServer } from "../../src/testing/dynamodb/server.js";
import { freshTable, Lockers, sdkClient } from "./sdk.js";
import { Worker } from "./worker.js";

/** What a worker is told; each file has more words of its own. */
interface WorkerTask {
  readonly name: string;
  readonly options?: object;
  readonly [word: string]: unknown;
}

/** A table in this process, behind HTTP, for workers and for rivals of this process. */
export class ProcessScene {
  readonly table = freshTable();
  readonly client: DynamoDBClient;
  readonly #server: MemoryServer;
  readonly #workers: Worker[] = [];
  readonly #lockers = new Lockers();

  private constructor(server: MemoryServer) {
    this.#server = server;
    this.client = sdkClient(server.endpoint);
  }

  static async open(): Promise<ProcessScene> {
    const scene = new ProcessScene(await startMemoryServer());
    await createTable({ client: scene.client, table: scene.table });
    return scene;
  }

  /** Starts a worker; `options` are those of its `Holdfast`. */
  worker(file: string, task: WorkerTask): Worker {
    const { endpoint } = this.#server;
    const worker = new Worker(file, { endpoint, table: this.table, ...task });
    this.#workers.push(worker);
    return worker;
  }

  /** A client for locks in this process. */
  locks(options: Partial<HoldfastOptions> = {}): Holdfast {
    return this.#lockers.make({ client: this.client, table: this.table, ...options }).locks;
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.end()));
    await this.#lockers.closeAll();
    this.client.destroy();
    await this.#server.close();
  }
}
