import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import type { DriverName } from "../../scripts/lib/interop-drivers.mjs";
import type { FaultProxy } from "../../src/testing/proxy/proxy.js";
import { type Acquiring, Driver, type Opening, type Releasing } from "./driver.js";

/** Who is who in a scene: their client, or ours. */
export type Side = "theirs" | "ours";

/** What a client may have nothing for. */
export type Lack =
  | "list"
  | "read"
  | "held"
  | "beat"
  | "stop its beats"
  | "carry data"
  | "tell a lost release";

/** How one client does what every client can: the same scenes are played with each. */
export interface Manner {
  readonly opening: Partial<Opening>;
  /** Tries, and does not wait. */
  readonly once: Partial<Acquiring>;
  /** Waits for at least this many milliseconds. */
  readonly wait: (forMs: number) => Partial<Acquiring>;
  /** What it has nothing for: the scenes then leave out that one question, and ask the others. */
  readonly cannot?: readonly Lack[];
  /** How long after a death it follows, at least and at most; left out: a lease, and a tenth of it more. */
  readonly followsMs?: readonly [leastMs: number, mostMs: number];
  /** For how long a waiter may not notice a release. */
  readonly noticesWithinMs: number;
  /** Every way to release, by what a reader calls it. */
  readonly releases: Readonly<Record<string, Releasing>>;
}

/** A format: what its own client can do, and what ours does in it. */
export interface FormatCase {
  readonly format: DriverName;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly theirs: Manner;
  readonly ours: Manner;
  /** What one of each costs, as operations of the table: theirs, ours. */
  readonly costs: Readonly<Record<string, Readonly<Record<Side, readonly string[]>>>>;
}

/** One table, and clients of both sides on it. */
export class Stage {
  readonly #client: DynamoDBClient;
  readonly #endpoint: string;
  readonly #table: string;
  readonly #one: FormatCase;
  readonly #partitionKey: string;
  readonly #drivers: Driver[] = [];
  #names = 0;

  constructor(
    client: DynamoDBClient,
    endpoint: string,
    table: string,
    one: FormatCase,
    partitionKey: string,
  ) {
    this.#client = client;
    this.#endpoint = endpoint;
    this.#table = table;
    this.#one = one;
    this.#partitionKey = partitionKey;
  }

  /** A process of this side, with a client that is open. */
  async enter(side: Side, more: Partial<Opening> = {}, proxy?: FaultProxy): Promise<Driver> {
    const { format } = this.#one;
    const driver = await Driver.open(side === "ours" ? "holdfast" : format, {
      endpoint: proxy?.endpoint ?? this.#endpoint,
      table: this.#table,
      partitionKey: this.#partitionKey,
      ...(side === "ours" ? { format } : {}),
      ...this.#one[side].opening,
      ...more,
    });
    this.#drivers.push(driver);
    return driver;
  }

  /** A name that no other scene uses. */
  name(): string {
    this.#names += 1;
    return `customer/${this.#names}`;
  }

  async item(name: string) {
    const read = new GetItemCommand({
      TableName: this.#table,
      Key: { [this.#partitionKey]: { S: name } },
      ConsistentRead: true,
    });
    return (await this.#client.send(read)).Item;
  }

  /** Who holds it, by all that the record says of that: what no renewal changes, and a release does. */
  async ownerOf(name: string): Promise<object | undefined> {
    const item = await this.item(name);
    const said = ["holder", "owner", "ownerName", "fencingToken", "isReleased", "leaseDurationMs"];
    return item && Object.fromEntries(said.map((attribute) => [attribute, item[attribute]]));
  }

  /** Ends every process that is still there. */
  async clear(): Promise<void> {
    await Promise.all(
      this.#drivers.splice(0).map((driver) => {
        driver.resume();
        return driver.kill();
      }),
    );
  }
}

/** One hold, by the one clock of whoever drives all processes. */
export interface Tenure {
  readonly who: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Has them all contend for one lock, until there were so many grants. A tenure begins when its grant was
 * answered and ends before its release is asked for, so it lies within what the client believed.
 */
export async function contend(
  name: string,
  contenders: readonly { readonly who: string; readonly driver: Driver; readonly how: object }[],
  grants: number,
): Promise<Tenure[]> {
  const tenures: Tenure[] = [];
  let begun = 0;
  await Promise.all(
    contenders.map(async ({ who, driver, how }) => {
      while (begun < grants) {
        const { hold } = await driver.acquire({ name, ...how }, 120_000);
        if (hold === undefined) continue;
        begun += 1;
        const fromMs = performance.now();
        await new Promise((resolve) => setTimeout(resolve, 10));
        tenures.push({ who, fromMs, toMs: performance.now() });
        await driver.release(hold);
      }
    }),
  );
  return tenures;
}

/** The pairs that held at once. */
export function overlaps(tenures: readonly Tenure[]): [Tenure, Tenure][] {
  const inOrder = tenures.toSorted((left, right) => left.fromMs - right.fromMs);
  return inOrder.flatMap((tenure, index): [Tenure, Tenure][] => {
    const next = inOrder[index + 1];
    return next !== undefined && next.fromMs < tenure.toMs ? [[tenure, next]] : [];
  });
}
