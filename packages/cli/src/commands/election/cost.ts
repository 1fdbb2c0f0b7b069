import { electionCost, ON_DEMAND_PRICES } from "../../election-cost.js";
import { EXIT, usageError } from "../../output/exit-codes.js";
import { jsonLine, type Output } from "../../output/output.js";

/** The options of `holdfast cost`, as parsed by commander. */
interface CostOptions {
  readonly instances?: string;
  readonly failover?: string;
  readonly lease?: string;
  readonly renew?: string;
  readonly standbyPoll?: string;
  readonly writePrice?: string;
  readonly readPrice?: string;
  readonly json?: boolean;
}

/** Prints the cost of an election, without requests. Returns the exit status. */
export function cost(options: CostOptions, output: Output): number {
  const { failover, lease, renew, standbyPoll: poll, writePrice, readPrice } = options;
  const isOwn = writePrice !== undefined || readPrice !== undefined;
  const prices = {
    ...ON_DEMAND_PRICES,
    perMillionWriteUnits: numberOf(
      "--write-price",
      writePrice,
      ON_DEMAND_PRICES.perMillionWriteUnits,
    ),
    perMillionReadUnits: numberOf("--read-price", readPrice, ON_DEMAND_PRICES.perMillionReadUnits),
    ...(isOwn ? { asOf: "as given" } : {}),
  };
  const instances = numberOf("--instances", options.instances, 2);
  const found = electionCost({ instances, failover, lease, renew, poll, prices });
  if (output.isJson) {
    output.out(jsonLine(found));
    return EXIT.ok;
  }
  const perDay = (requests: number, units: number, unit: string): string =>
    `${Math.round(requests).toLocaleString("en")} a day, ${Math.round(units).toLocaleString("en")} ${unit} units`;
  output.out(`writes     ${perDay(found.writesPerDay, found.writeUnitsPerDay, "write")}`);
  output.out(`reads      ${perDay(found.readsPerDay, found.readUnitsPerDay, "read")}`);
  output.out(`a month    ${found.perMonth.toFixed(2)} ${prices.currency} (${prices.asOf})`);
  return EXIT.ok;
}

function numberOf(option: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) {
    throw usageError(`${option} must be a number from 0; it is "${text}".`);
  }
  return value;
}
