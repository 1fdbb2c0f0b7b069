import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type HoldfastOptions, mutex } from "../../packages/holdfast/src/index.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import { type FaultProxy, startFaultProxy } from "../../packages/testing/src/proxy/proxy.js";
import type { ProxyFault } from "../../packages/testing/src/proxy/proxy-plan.js";
import { nextWrites, recordOf } from "./lossy.js";
import { freshTable, type Locker, Lockers, sdkClient } from "./sdk.js";
import type { Way } from "./ways.js";

/**
 * A fault proxy, and a client behind the proxy: separate for each test, so that tests can run concurrently.
 */
export interface Network {
  readonly proxy: FaultProxy;
  /** A client for locks behind the proxy. */
  locker(options?: Partial<HoldfastOptions>): Locker;
  /** Injects a fault into the next `times` writes of a lock's record. */
  nextWrites(name: string, fault: ProxyFault, times?: number): void;
}

/** A table with a direct connection and any number of connections through proxies. */
export class BadNetworks {
  readonly table = freshTable();
  readonly #endpoint: string;
  readonly #lockers = new Lockers();
  readonly #proxies: FaultProxy[] = [];
  readonly #clients: DynamoDBClient[] = [];
  readonly #way: Way;
  readonly direct: DynamoDBClient;

  private constructor(endpoint: string, way: Way) {
    this.#endpoint = endpoint;
    this.#way = way;
    this.direct = this.client(endpoint);
  }

  /** `way`: how the requests of locks travel. */
  static async open(endpoint: string, way: Way): Promise<BadNetworks> {
    const networks = new BadNetworks(endpoint, way);
    await createTable({ client: networks.direct, table: networks.table });
    // The first requests to a server that has just started take longer than the leases of these tests.
    const { locks } = networks.locker();
    for (let time = 0; time < 20; time += 1) await mutex(locks, "warm").run(() => undefined);
    return networks;
  }

  /** A client of the SDK's for any endpoint. */
  client(endpoint: string): DynamoDBClient {
    const made = sdkClient(endpoint);
    this.#clients.push(made);
    return made;
  }

  /** A client for locks with a good network. */
  locker(options: Partial<HoldfastOptions> = {}): Locker {
    const { client = this.direct } = options;
    const over = client instanceof DynamoDBClient ? this.#way.over(client) : client;
    return this.#lockers.make({ table: this.table, ...options, client: over });
  }

  async network(): Promise<Network> {
    const proxy = await startFaultProxy({ target: this.#endpoint });
    this.#proxies.push(proxy);
    const client = this.client(proxy.endpoint);
    return {
      proxy,
      locker: (options) => this.locker({ client, requestTimeout: "1s", ...options }),
      nextWrites: (name, fault, times) => nextWrites(proxy, name, fault, times),
    };
  }

  /** The current record of a lock. */
  record(name: string): ReturnType<typeof recordOf> {
    return recordOf(this.direct, this.table, name);
  }

  async isFree(name: string): Promise<boolean> {
    return (await this.record(name))?.["holder"] === undefined;
  }

  async close(): Promise<void> {
    for (const proxy of this.#proxies) proxy.clear();
    await this.#lockers.closeAll();
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
    for (const client of this.#clients) client.destroy();
  }
}
