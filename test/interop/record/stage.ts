import {
  type AttributeValue,
  DeleteTableCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { FaultProxy } from "../../../packages/testing/src/proxy/proxy.js";
import type { DriverName } from "../../../scripts/lib/interop-drivers.mjs";
import { eventually } from "../../support/sdk.js";
import { Driver, FailedStep, type Opening } from "../driver.js";
import { createForeignTable, KEYS, type KeyNames } from "../tables.js";

/** Every recording uses this table name and this lock name. */
const TABLE = "locks";
export const NAME = "customer/42";
export const SORT = "eu";

/** One step of a client, requested or its own; the requests of the step, and the item afterwards. */
export interface RecordedStep {
  readonly does: string;
  /** The client's answer. */
  readonly answer?: unknown;
  readonly requests: readonly {
    readonly operation: string;
    /** The status of the answer: 400 for a refused condition. */
    readonly status: number | undefined;
    readonly request: unknown;
  }[];
  /** The lock's item afterwards; null if absent. */
  readonly item: unknown;
}

/** One state, as a client produced it. */
export interface RecordedScene {
  readonly state: string;
  readonly keys: KeyNames;
  readonly steps: readonly RecordedStep[];
}

/** The name of a state, and how clients produce it. */
export interface Scene {
  readonly state: string;
  readonly keys?: KeyNames;
  readonly play: (stage: Stage) => Promise<void>;
}

interface Props {
  readonly client: DynamoDBClient;
  readonly proxy: FaultProxy;
  readonly format: DriverName;
}

/** The environment of a scene: the table, the processes, and their requests. */
export class Stage {
  readonly proxy: FaultProxy;
  readonly keys: KeyNames;
  readonly #client: DynamoDBClient;
  readonly #format: DriverName;
  readonly #drivers: Driver[] = [];
  readonly #steps: RecordedStep[] = [];
  #seen = 0;

  private constructor({ client, proxy, format }: Props, keys: KeyNames) {
    this.#client = client;
    this.proxy = proxy;
    this.#format = format;
    this.keys = keys;
  }

  static async play(
    props: Props,
    { state, keys = KEYS[props.format], play }: Scene,
  ): Promise<{
    readonly scene: RecordedScene;
    readonly by: { readonly client: string; readonly version: string };
  }> {
    await createForeignTable(props.client, TABLE, props.format, keys);
    const stage = new Stage(props, keys);
    props.proxy.forgetRequests();
    try {
      await play(stage);
      const [first] = stage.#drivers;
      if (first === undefined) throw new Error(`No client process takes part in "${state}".`);
      const by = { client: first.client, version: first.version };
      return { scene: { state, keys, steps: stage.#steps }, by };
    } finally {
      props.proxy.clear();
      await Promise.all(stage.#drivers.map((driver) => driver.kill()));
      await props.client.send(new DeleteTableCommand({ TableName: TABLE }));
    }
  }

  /** Starts a process of the client, which reaches the table through the proxy. */
  async open(opening: Partial<Opening> = {}): Promise<Driver> {
    const { endpoint } = this.proxy;
    const driver = await Driver.open(this.#format, {
      endpoint,
      table: TABLE,
      ...this.keys,
      ...opening,
    });
    this.#drivers.push(driver);
    return driver;
  }

  /** Runs a step, and records its requests and the item afterwards. */
  async does<T>(what: string, work: () => Promise<T>): Promise<T> {
    const result = await work();
    const requests = this.proxy.requests.slice(this.#seen).map(({ operation, status, body }) => ({
      operation,
      status,
      request: sorted(body),
    }));
    this.#seen += requests.length;
    const answer = result === undefined || result instanceof Driver ? {} : { answer: result };
    this.#steps.push({ does: what, ...answer, requests, item: await this.#item() });
    return result;
  }

  /**
   * Puts the lock's item into the table, as a foreign client would have written it; no driver sends this write.
   */
  async finds(what: string, attributes: Record<string, AttributeValue>): Promise<void> {
    const { partitionKey } = this.keys;
    const Item = { [partitionKey]: { S: NAME }, ...attributes };
    await this.does(what, async () => {
      await this.#client.send(new PutItemCommand({ TableName: TABLE, Item }));
    });
  }

  /** Runs a step like `does`; a failure counts as its answer. */
  async tries(what: string, work: () => Promise<object>): Promise<void> {
    await this.does(what, () =>
      work().catch((error: unknown) => {
        if (error instanceof FailedStep) return { error: error.message };
        throw error;
      }),
    );
  }

  /** Resolves when this many requests of the operation were answered since the scene began. */
  answered(operation: string, times = 1): Promise<void> {
    const count = () =>
      this.proxy.requests.filter((one) => one.operation === operation && one.status !== undefined)
        .length;
    return eventually(() => count() >= times, 20_000);
  }

  /** Resolves when this many requests of the operation have arrived, answered or not. */
  proxyHas(operation: string, times: number): Promise<void> {
    return eventually(() => this.proxy.count(operation) >= times, 20_000);
  }

  async #item(): Promise<unknown> {
    const { partitionKey, sortKey } = this.keys;
    const sort = sortKey === undefined ? {} : { [sortKey]: { S: SORT } };
    const Key = { [partitionKey]: { S: NAME }, ...sort };
    const read = new GetItemCommand({ TableName: TABLE, Key, ConsistentRead: true });
    const { Item } = await this.#client.send(read);
    return Item === undefined ? null : sorted(withText(Item));
  }
}

/** Encodes bytes as DynamoDB's JSON does. */
function withText(item: Record<string, AttributeValue>): object {
  const shown = Object.entries(item).map(([name, value]) => [
    name,
    value.B === undefined ? value : { B: Buffer.from(value.B).toString("base64") },
  ]);
  return Object.fromEntries(shown);
}

/** Sorts the names: some clients send them in a different order each time. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}
