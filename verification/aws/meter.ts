import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { S3Client } from "@aws-sdk/client-s3";
import { NO_USAGE, plus, type Usage, usdOf } from "./prices.js";

/** The error of every request after the ceiling, and the abort reason of the run. */
export class CeilingReached extends Error {
  override readonly name = "CeilingReached";
}

type Input = Readonly<Record<string, unknown>>;

const WRITES = new Set(["PutItem", "UpdateItem", "DeleteItem"]);
const READS = new Set(["GetItem", "Query", "Scan"]);
const S3_WRITES = new Set(["PutObject", "CopyObject", "ListObjectsV2", "CreateBucket"]);
const S3_READS = new Set(["GetObject", "HeadObject"]);

/** Whether an operation consumes capacity units. */
export function isCharged(operation: string): boolean {
  return WRITES.has(operation) || READS.has(operation) || operation === "TransactWriteItems";
}

/** The lowest usage of a request, for small items. A request without an answer counts with this usage. */
export function leastUsage(operation: string, input: Input): Partial<Usage> {
  if (WRITES.has(operation)) return { writeUnits: 1 };
  if (READS.has(operation)) return { readUnits: input["ConsistentRead"] === true ? 1 : 0.5 };
  if (operation === "TransactWriteItems") {
    return { writeUnits: 2 * ((input["TransactItems"] as unknown[] | undefined)?.length ?? 0) };
  }
  if (S3_WRITES.has(operation)) return { s3Writes: 1 };
  return S3_READS.has(operation) ? { s3Reads: 1 } : {};
}

/** The usage in the answer of DynamoDB. */
function toldUsage(operation: string, answer: unknown): Partial<Usage> {
  const { ConsumedCapacity } = (answer ?? {}) as { ConsumedCapacity?: unknown };
  const told = [ConsumedCapacity ?? []].flat() as { CapacityUnits?: number }[];
  const units = told.reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
  return READS.has(operation) ? { readUnits: units } : { writeUnits: units };
}

/** Counts the cost of all requests of a run, and aborts the run at the ceiling. */
export class Meter {
  readonly ceilingUsd: number;
  readonly #factor: number;
  readonly #onCeiling: (reason: CeilingReached) => void;
  #usage = NO_USAGE;
  #requests = 0;

  constructor(ceilingUsd: number, factor: number, onCeiling: (reason: CeilingReached) => void) {
    this.ceilingUsd = ceilingUsd;
    this.#factor = factor;
    this.#onCeiling = onCeiling;
  }

  get usage(): Usage {
    return this.#usage;
  }

  get requests(): number {
    return this.#requests;
  }

  get usd(): number {
    return usdOf(this.#usage, this.#factor);
  }

  /** Charges a request before the send, because AWS also charges for lost answers. Throws at the ceiling. */
  charge(operation: string, input: Input, replicas = 1): void {
    const least = leastUsage(operation, input);
    const writeUnits = (least.writeUnits ?? 0) * replicas;
    if (this.usd >= this.ceilingUsd) {
      const reason = new CeilingReached(`The ceiling of ${this.ceilingUsd} USD is reached.`);
      this.#onCeiling(reason);
      throw reason;
    }
    this.#requests += 1;
    this.#usage = plus(this.#usage, { ...least, writeUnits });
  }

  /** Adds the usage in the answer beyond the charge. */
  correct(operation: string, input: Input, answer: unknown, replicas = 1): void {
    const least = leastUsage(operation, input);
    const told = toldUsage(operation, answer);
    const more = (key: "writeUnits" | "readUnits"): number =>
      Math.max(0, (told[key] ?? 0) - (least[key] ?? 0));
    this.add({ writeUnits: more("writeUnits") * replicas, readUnits: more("readUnits") });
  }

  add(usage: Partial<Usage>): void {
    this.#usage = plus(this.#usage, usage);
  }
}

interface Passing {
  readonly input: Input;
}

/** The middleware stack of a client. */
interface Stacked {
  readonly middlewareStack: { add(middleware: unknown, options: object): void };
}

/** Further treatment of the requests of a client. */
export interface Watch {
  /** The regions of a global table: a write costs a unit in each region. */
  readonly replicas?: number;
  /** Changes the input of an operation before the send. */
  readonly prepared?: (operation: string, input: Input) => Input;
}

/** Counts all requests of a client, and of derived clients, such as the copies of `Holdfast`. */
export function metered<Client extends DynamoDBClient | S3Client>(
  client: Client,
  meter: Meter,
  { replicas = 1, prepared = (_, input) => input }: Watch = {},
): Client {
  const middleware =
    (next: (args: Passing) => Promise<{ output: unknown }>, context: { commandName?: string }) =>
    async (args: Passing) => {
      const operation = (context.commandName ?? "").replace(/Command$/, "");
      const input = prepared(operation, args.input);
      meter.charge(operation, input, replicas);
      if (!isCharged(operation)) return next({ ...args, input });
      const asking = { ReturnConsumedCapacity: "TOTAL", ...input };
      const result = await next({ ...args, input: asking });
      meter.correct(operation, input, result.output, replicas);
      return result;
    };
  (client as Stacked).middlewareStack.add(middleware, {
    step: "initialize",
    name: "holdfastMeter",
  });
  return client;
}
