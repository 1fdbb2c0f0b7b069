import { type DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import type { HoldfastOptions } from "../../packages/holdfast/src/index.js";
import { LeanClient } from "../../packages/holdfast/src/lean/lean.js";
import type { TableKeys } from "../../packages/holdfast/src/table/index.js";
import { type Metered, meter } from "../support/meter.js";
import { type Locker, Lockers } from "../support/sdk.js";
import { meterLean, SDK_WAY, type Way } from "../support/ways.js";

/** A server with tables, as the suite needs. */
export interface Backend {
  readonly name: string;
  /** The transport for requests of locks; default the SDK. */
  readonly way?: Way;
  /** An SDK client, for a table of this name that does not exist yet. */
  open(): Promise<OpenBackend>;
  /** Tests to skip on this server, each with a reason. */
  readonly skips: readonly { readonly title: string; readonly reason: string }[];
}

export interface OpenBackend {
  readonly client: DynamoDBClient;
  readonly table: string;
  close(): Promise<void> | void;
}

/** A shape of the table's key. */
export interface Shape {
  readonly title: string;
  readonly keys: TableKeys | undefined;
  readonly key: (name: string) => Record<string, { S: string }>;
}

/** Declares a test; `once` for tests that are independent of the key's shape. */
export interface Declare {
  (title: string, body: () => Promise<void>): void;
  readonly once: (title: string, body: () => Promise<void>) => void;
}

export const MANUAL = {
  lease: "30s",
  renew: "manual",
  poll: { min: "20ms", max: "100ms" },
} as const;

export const WRITE: Metered = { operation: "UpdateItem", applied: true, units: 1 };
export const REFUSED: Metered = { operation: "UpdateItem", applied: false, units: undefined };
export const POLL: Metered = { operation: "GetItem", applied: true, units: 0.5 };

/** One table on one server, with helpers for the tests. */
export class Bench {
  readonly shape: Shape;
  readonly lockers = new Lockers();
  #open: OpenBackend | undefined;
  #client: HoldfastOptions["client"] | undefined;
  #seen: readonly Metered[] = [];

  constructor(shape: Shape) {
    this.shape = shape;
  }

  get open(): OpenBackend {
    if (this.#open === undefined) throw new Error("The server has not been opened yet.");
    return this.#open;
  }

  use(open: OpenBackend, { over } = SDK_WAY): void {
    this.#open = open;
    const seen = meter(open.client);
    this.#client = over(open.client);
    if (this.#client instanceof LeanClient) meterLean(this.#client, seen);
    this.#seen = seen;
  }

  /** A new client for locks, as if of another process. */
  readonly locker = (options: Partial<HoldfastOptions> = {}): Locker => {
    const { client: direct, table } = this.open;
    const client = this.#client ?? direct;
    return this.lockers.make({ client, table, keys: this.shape.keys, ...options });
  };

  /** The current record of a lock. */
  readonly item = async (name: string) => {
    const { client, table } = this.open;
    const Key = this.shape.key(name);
    const command = new GetItemCommand({ TableName: table, Key, ConsistentRead: true });
    return (await client.send(command)).Item;
  };

  /** The requests sent while `work` ran. */
  readonly during = async (work: () => Promise<unknown>): Promise<Metered[]> => {
    const before = this.#seen.length;
    await work();
    return this.#seen.slice(before);
  };
}
