import { ON_DEMAND_PRICES } from "../../packages/cli/src/election-cost.js";
import type { Part } from "./options.js";

export interface Usage {
  readonly writeUnits: number;
  readonly readUnits: number;
}

/** The regions with the prices of us-east-1. The factor of the others is above that of the most expensive one. */
const CHEAPEST = new Set(["us-east-1", "us-east-2", "us-west-2"]);
const DEAREST = 2;

export function usdOf({ writeUnits, readUnits }: Usage, region: string): number {
  const { perMillionWriteUnits, perMillionReadUnits } = ON_DEMAND_PRICES;
  const usd = (writeUnits * perMillionWriteUnits + readUnits * perMillionReadUnits) / 1e6;
  return (CHEAPEST.has(region) ? 1 : DEAREST) * usd;
}

/** The text of a price, rounded up to the next cent. */
export function usdText(usd: number): string {
  // Without the error of floating point, a whole number of cents stays.
  return `${(Math.ceil(Number((usd * 100).toFixed(6))) / 100).toFixed(2)} USD`;
}

/** At least twice the usage on a server on this machine, because waiting clients poll for longer on AWS. */
export const EXPECTED: Readonly<Record<Part, Usage>> = {
  engine: { writeUnits: 4_000, readUnits: 400 },
  conformance: { writeUnits: 11_000, readUnits: 4_000 },
  bench: { writeUnits: 70_000, readUnits: 1_000 },
};

/** The error of every request after the ceiling, and the abort reason of the run. */
export class CeilingReached extends Error {
  override readonly name = "CeilingReached";
}

const WRITES = new Set(["PutItem", "UpdateItem", "DeleteItem"]);
const READS = new Set(["GetItem", "Query", "Scan"]);

type Body = Readonly<Record<string, unknown>>;

/** Whether an operation consumes capacity units. */
export function isCharged(operation: string): boolean {
  return WRITES.has(operation) || READS.has(operation) || operation === "TransactWriteItems";
}

/** The lowest usage of a request, for small items. A request without an answer counts with this usage. */
function leastUsage(operation: string, body: Body): Usage {
  if (WRITES.has(operation)) return { writeUnits: 1, readUnits: 0 };
  if (READS.has(operation)) {
    return { writeUnits: 0, readUnits: body["ConsistentRead"] === true ? 1 : 0.5 };
  }
  if (operation !== "TransactWriteItems") return { writeUnits: 0, readUnits: 0 };
  const parts = (body["TransactItems"] as unknown[] | undefined)?.length ?? 0;
  return { writeUnits: 2 * parts, readUnits: 0 };
}

/** Counts the cost of all requests of a run, and aborts the run at the ceiling. */
export class Meter {
  requests = 0;
  writeUnits = 0;
  readUnits = 0;
  readonly #ceilingUsd: number;
  readonly #region: string;
  readonly #onCeiling: (reason: CeilingReached) => void;

  constructor(ceilingUsd: number, region: string, onCeiling: (reason: CeilingReached) => void) {
    this.#ceilingUsd = ceilingUsd;
    this.#region = region;
    this.#onCeiling = onCeiling;
  }

  get usd(): number {
    return usdOf(this, this.#region);
  }

  /** Charges a request before the send, because AWS also charges for lost answers. Throws at the ceiling. */
  charge(operation: string, body: Body): void {
    if (this.usd >= this.#ceilingUsd) {
      const reason = new CeilingReached(`The ceiling of ${this.#ceilingUsd} USD is reached.`);
      this.#onCeiling(reason);
      throw reason;
    }
    this.requests += 1;
    const least = leastUsage(operation, body);
    this.writeUnits += least.writeUnits;
    this.readUnits += least.readUnits;
  }

  /** Adds the usage in the answer beyond the charge. */
  correct(operation: string, body: Body, consumed: unknown): void {
    const least = leastUsage(operation, body);
    const told = [consumed ?? []].flat() as { readonly CapacityUnits?: number }[];
    const units = told.reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
    if (READS.has(operation)) this.readUnits += Math.max(0, units - least.readUnits);
    else this.writeUnits += Math.max(0, units - least.writeUnits);
  }
}
