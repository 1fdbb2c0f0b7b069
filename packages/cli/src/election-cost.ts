import {
  DEFAULTS,
  type ElectionOptions,
  HoldfastError,
  MEAN_PAUSE,
  resolveElection,
} from "holdfast/internal";

/** The prices of a million request units. */
export interface Prices {
  readonly perMillionWriteUnits: number;
  readonly perMillionReadUnits: number;
  readonly currency: string;
  /** The region and the date of these prices. */
  readonly asOf: string;
}

/** Options of {@link electionCost}: the durations of an election, and the number of candidates. */
interface ElectionCostOptions
  extends Pick<ElectionOptions, "failover" | "lease" | "renew" | "poll"> {
  /** The number of processes, including the leader; at least 1. */
  readonly instances: number;
  /** Default {@link ON_DEMAND_PRICES}. */
  readonly prices?: Prices | undefined;
}

/** The cost of an election during a single term. */
interface ElectionCost {
  readonly writesPerDay: number;
  readonly readsPerDay: number;
  /** A write of a record below 1 KB is one unit. */
  readonly writeUnitsPerDay: number;
  /** An eventually consistent read of up to 4 KB is half a unit. */
  readonly readUnitsPerDay: number;
  /** Cost of 730 hours, not rounded. */
  readonly perMonth: number;
  readonly prices: Prices;
}

/** On-demand tables of the standard class in us-east-1. Other regions cost up to about half more. */
export const ON_DEMAND_PRICES: Prices = Object.freeze({
  perMillionWriteUnits: 0.625,
  perMillionReadUnits: 0.125,
  currency: "USD",
  asOf: "us-east-1, on demand, since 2024-11-01",
});

const DAY_MS = 24 * 3_600_000;
const MONTH_DAYS = 730 / 24;
const UNITS_OF_A_READ = 0.5;

/**
 * Computes the cost of an election: the renewals of the leader, and the reads of the standby candidates.
 *
 * Pure; costs no request. Request times lower the cost; a transition adds two writes, a proclaimed value beyond 1 KB
 * another unit for each write. Throws `invalid-argument`.
 */
export function electionCost(options: ElectionCostOptions): ElectionCost {
  const { instances, prices = ON_DEMAND_PRICES, failover, lease, renew, poll } = options;
  if (!(Number.isInteger(instances) && instances >= 1)) {
    throw new HoldfastError(
      "invalid-argument",
      `The option \`instances\` must be a whole number from 1; it is ${instances}.`,
    );
  }
  const lengths = { failover, lease, renew, poll };
  const { renewMs, pollMs } = resolveElection(lengths, "estimate", DEFAULTS.maxClockDrift);
  const writesPerDay = DAY_MS / renewMs;
  const readsPerDay = ((instances - 1) * DAY_MS) / (pollMs * MEAN_PAUSE);
  const writeUnitsPerDay = writesPerDay;
  const readUnitsPerDay = readsPerDay * UNITS_OF_A_READ;
  const perDay =
    (writeUnitsPerDay * prices.perMillionWriteUnits +
      readUnitsPerDay * prices.perMillionReadUnits) /
    1e6;
  const perMonth = perDay * MONTH_DAYS;
  return { writesPerDay, readsPerDay, writeUnitsPerDay, readUnitsPerDay, perMonth, prices };
}
