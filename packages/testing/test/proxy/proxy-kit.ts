import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { DynamoDBClient, GetItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach } from "vitest";
import { type FaultProxy, type FaultProxyOptions, startFaultProxy } from "../../src/proxy/proxy.js";

/** A minimal DynamoDB that counts updates, to show which requests arrived. */
class Stub {
  readonly bodies: Record<string, unknown>[] = [];
  updates = 0;
  readonly #server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    this.bodies.push(body);
    const isUpdate = String(request.headers["x-amz-target"]).endsWith(".UpdateItem");
    if (isUpdate) this.updates += 1;
    const asked = body["ReturnConsumedCapacity"] !== undefined;
    const consumed = asked ? { ConsumedCapacity: { TableName: "t", CapacityUnits: 1.5 } } : {};
    const item = { n: { N: String(this.updates) } };
    const answer = { ...(isUpdate ? { Attributes: item } : { Item: item }), ...consumed };
    response.setHeader("content-type", "application/x-amz-json-1.0");
    response.end(JSON.stringify(answer));
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export const Key = { pk: { S: "a" } };
export const update = new UpdateItemCommand({ TableName: "t", Key });
export const get = new GetItemCommand({ TableName: "t", Key });

/** A proxy before a stub, new for every test, and the real SDK before the proxy. */
export class ProxyKit {
  stub = new Stub();
  target = "";
  readonly #clients: DynamoDBClient[] = [];
  #proxy: FaultProxy | undefined;

  constructor() {
    beforeEach(async () => {
      this.stub = new Stub();
      this.target = await this.stub.start();
      await this.startProxy();
    });
    afterEach(async () => {
      for (const made of this.#clients.splice(0)) made.destroy();
      await this.proxy.close();
      await this.stub.stop();
    });
  }

  get proxy(): FaultProxy {
    if (this.#proxy === undefined) throw new Error("The proxy has not been started yet.");
    return this.#proxy;
  }

  /** Starts the proxy again, with these options. */
  async startProxy(options: Partial<FaultProxyOptions> = {}): Promise<void> {
    await this.#proxy?.close();
    this.#proxy = await startFaultProxy({ target: this.target, ...options });
  }

  client(maxAttempts = 1): DynamoDBClient {
    const made = new DynamoDBClient({
      endpoint: this.proxy.endpoint,
      region: "local",
      credentials: { accessKeyId: "local", secretAccessKey: "local" },
      maxAttempts,
    });
    this.#clients.push(made);
    return made;
  }

  /** How many updates the answer to a read shows. */
  async readOnce(consistent = false): Promise<string | undefined> {
    const command = new GetItemCommand({ TableName: "t", Key, ConsistentRead: consistent });
    return (await this.client().send(command)).Item?.["n"]?.N;
  }
}
