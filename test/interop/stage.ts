import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import type { FaultProxy } from "../../packages/testing/src/proxy/proxy.js";
import { freshTable } from "../support/sdk.js";
import { Driver, type Opening } from "./driver.js";
import type { FormatCase, Side } from "./scenes.js";
import { createForeignTable, KEYS, type KeyNames } from "./tables.js";

/** A lock's name, as in the drivers' steps. */
export interface LockName {
  readonly name: string;
  readonly sort?: string;
}

/** One table, with clients of both sides. */
export class Stage {
  /** Their client and the version, after the first start. */
  theirs: string | undefined;
  readonly #client: DynamoDBClient;
  readonly #endpoint: string;
  readonly #table = freshTable();
  readonly #one: FormatCase;
  readonly #keys: KeyNames;
  readonly #drivers: Driver[] = [];
  #names = 0;

  constructor(client: DynamoDBClient, endpoint: string, one: FormatCase) {
    this.#client = client;
    this.#endpoint = endpoint;
    this.#one = one;
    const { format, sortKey } = one;
    this.#keys = sortKey === undefined ? KEYS[format] : { ...KEYS[format], sortKey };
  }

  createTable(): Promise<void> {
    return createForeignTable(this.#client, this.#table, this.#one.format, this.#keys);
  }

  /** Starts a process of this side, with an open client. */
  async enter(side: Side, more: Partial<Opening> = {}, proxy?: FaultProxy): Promise<Driver> {
    const { format, driver: theirs = format } = this.#one;
    const driver = await Driver.open(side === "ours" ? "holdfast" : theirs, {
      endpoint: proxy?.endpoint ?? this.#endpoint,
      table: this.#table,
      ...this.#keys,
      ...(side === "ours" ? { format } : {}),
      ...this.#one[side].opening,
      ...more,
    });
    this.#drivers.push(driver);
    if (side === "theirs") this.theirs = `\`${driver.client}\` ${driver.version}`;
    return driver;
  }

  /** Returns a name which no further scene uses. */
  name(): LockName {
    this.#names += 1;
    const name = `customer/${this.#names}`;
    return this.#keys.sortKey === undefined ? { name } : { name, sort: "1" };
  }

  async item({ name, sort }: LockName) {
    const { partitionKey, sortKey } = this.#keys;
    const second = sortKey === undefined || sort === undefined ? {} : { [sortKey]: { S: sort } };
    const read = new GetItemCommand({
      TableName: this.#table,
      Key: { [partitionKey]: { S: name }, ...second },
      ConsistentRead: true,
    });
    return (await this.#client.send(read)).Item;
  }

  /** Returns the record's attributes of its holder, which change with a release but not with a renewal. */
  async ownerOf(name: LockName): Promise<object | undefined> {
    const item = await this.item(name);
    const said = ["holder", "owner", "ownerName", "fencingToken", "isReleased", "leaseDurationMs"];
    return item && Object.fromEntries(said.map((attribute) => [attribute, item[attribute]]));
  }

  /** Ends every remaining process. */
  async clear(): Promise<void> {
    await Promise.all(
      this.#drivers.splice(0).map((driver) => {
        driver.resume();
        return driver.kill();
      }),
    );
  }
}
