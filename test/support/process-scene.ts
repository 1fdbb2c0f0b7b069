import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Holdfast, HoldfastOptions } from "../../packages/holdfast/src/index.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import {
  type MemoryServer,
  startMemoryServer,
} from "../../packages/testing/src/dynamodb/server.js";
import { freshTable, Lockers, sdkClient } from "./sdk.js";
import { Worker } from "./worker.js";

/** The task of a worker; each worker file has further members. */
interface WorkerTask {
  readonly name: string;
  readonly options?: object;
  readonly [word: string]: unknown;
}

/** A table for workers and for rivals in this process, served by this process or by another server. */
export class ProcessScene {
  readonly table = freshTable();
  readonly client: DynamoDBClient;
  readonly endpoint: string;
  readonly #server: MemoryServer | undefined;
  readonly #workers: Worker[] = [];
  readonly #lockers = new Lockers();

  private constructor(endpoint: string, server: MemoryServer | undefined) {
    this.endpoint = endpoint;
    this.#server = server;
    this.client = sdkClient(endpoint);
  }

  /** `endpoint`: the address of a running server. */
  static async open(endpoint?: string): Promise<ProcessScene> {
    const server = endpoint === undefined ? await startMemoryServer() : undefined;
    const scene = new ProcessScene(endpoint ?? server?.endpoint ?? "", server);
    await createTable({ client: scene.client, table: scene.table });
    return scene;
  }

  /** Starts a worker; `options` are the options of its `Holdfast`. */
  worker(file: string, task: WorkerTask): Worker {
    const worker = new Worker(file, { endpoint: this.endpoint, table: this.table, ...task });
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
    await this.#server?.close();
  }
}
