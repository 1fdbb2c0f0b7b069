import { ON_DEMAND_PRICES } from "../../src/cli/election-cost.js";

/** The counts that AWS charges for. */
export interface Usage {
  readonly writeUnits: number;
  readonly readUnits: number;
  /** PUT, COPY and LIST requests to S3. */
  readonly s3Writes: number;
  /** GET and HEAD requests to S3. */
  readonly s3Reads: number;
  /** Hours of a table with one provisioned write unit and one read unit. */
  readonly provisionedHours: number;
}

export const NO_USAGE: Usage = Object.freeze({
  writeUnits: 0,
  readUnits: 0,
  s3Writes: 0,
  s3Reads: 0,
  provisionedHours: 0,
});

/** USD in us-east-1. Requests to IAM and STS, deletions in S3, and requests about tables are free of charge. */
const USD: Usage = Object.freeze({
  writeUnits: ON_DEMAND_PRICES.perMillionWriteUnits / 1e6,
  readUnits: ON_DEMAND_PRICES.perMillionReadUnits / 1e6,
  s3Writes: 0.005 / 1_000,
  s3Reads: 0.0004 / 1_000,
  provisionedHours: 0.000_65 + 0.000_13,
});

/** The regions with the prices of us-east-1. */
const CHEAPEST = new Set(["us-east-1", "us-east-2", "us-west-2"]);

/** The multiple for every other region, above the most expensive region. */
const DEAREST = 2;

/** The multiple of the prices of us-east-1 for these regions; never too low. */
export function priceFactor(regions: readonly string[]): number {
  return regions.every((region) => CHEAPEST.has(region)) ? 1 : DEAREST;
}

/** The price of this usage in USD. */
export function usdOf(usage: Usage, factor: number): number {
  const keys = Object.keys(USD) as (keyof Usage)[];
  return factor * keys.reduce((sum, key) => sum + usage[key] * USD[key], 0);
}

export function sumOf(usages: readonly Usage[]): Usage {
  return usages.reduce((sum, one) => plus(sum, one), NO_USAGE);
}

export function plus(one: Usage, other: Partial<Usage>): Usage {
  const keys = Object.keys(NO_USAGE) as (keyof Usage)[];
  const added = keys.map((key) => [key, one[key] + (other[key] ?? 0)] as const);
  return Object.fromEntries(added) as unknown as Usage;
}

/** The text of a price, rounded up to the next cent. */
export function usdText(usd: number): string {
  // Without the error of floating point, a whole number of cents stays.
  return `${(Math.ceil(Number((usd * 100).toFixed(6))) / 100).toFixed(2)} USD`;
}
