// The tables of growth in docs/performance.md: calculated from counted schedules, limits and prices.
import { loadSource } from "../../scripts/lib/source.mjs";
import { fullestPart, placesOf, writesASecond } from "./schedules.mjs";

const { ON_DEMAND_PRICES } = await loadSource("cli/src/election-cost");

/** The published limits of a partition of a DynamoDB table. */
const PARTITION_WRITES = 1_000;
const PARTITION_READS = 3_000;
const MONTH_S = 730 * 3_600;
/** A lock on a session is written at this interval, so that TTL does not reach its record. */
const TOUCH_S = 2 * 24 * 3_600;

const PROCESSES = 10_000;
const LOCKS = 1_000_000;

const whole = (value) => Math.round(value).toLocaleString("en");
const table = (rows) => {
  const heads = Object.keys(rows[0]);
  return [heads, heads.map(() => "---"), ...rows.map((row) => Object.values(row))]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
};
const dollarsAMonth = (writes) => (writes * MONTH_S * ON_DEMAND_PRICES.perMillionWriteUnits) / 1e6;

const FLEETS = [
  { what: "a lease of 30 s each", count: LOCKS, renewMs: 10_000, prefix: "lock#order/" },
  { what: "a lease of 5 min each", count: LOCKS, renewMs: 100_000, prefix: "lock#order/" },
  {
    what: "a session of 30 s a process",
    count: PROCESSES,
    renewMs: 10_000,
    prefix: "session#",
    touched: LOCKS,
  },
  {
    what: "a session of 5 min a process",
    count: PROCESSES,
    renewMs: 100_000,
    prefix: "session#",
    touched: LOCKS,
  },
];

/** The number of partitions for these writes, until the fullest partition can carry its renewals. */
function partitionsFor({ renewMs }, places, writes) {
  const least = Math.ceil(writes / PARTITION_WRITES);
  for (let parts = least; ; parts += 1) {
    const fullest = fullestPart(places, parts);
    if (writesASecond(fullest, renewMs) <= PARTITION_WRITES) return parts;
  }
}

function fleets() {
  const places = new Map();
  for (const { prefix, count } of FLEETS) {
    if (!places.has(prefix))
      places.set(
        prefix,
        placesOf(count, (at) => `${prefix}${at}`),
      );
  }
  return table(
    FLEETS.map((fleet) => {
      const renewals = writesASecond(fleet.count, fleet.renewMs);
      const writes = renewals + (fleet.touched ?? 0) / TOUCH_S;
      return {
        "kept by": fleet.what,
        "writes a second": whole(writes),
        "partitions for them": whole(partitionsFor(fleet, places.get(fleet.prefix), writes)),
        "dead holder's locks are free after": `${(fleet.renewMs * 3 * 1.02) / 1_000} s`,
        "USD a month": whole(dollarsAMonth(writes)),
      };
    }),
  );
}

const POLL_S = 2;

function limits() {
  // A poll is an eventually consistent read: half a unit.
  const readersOfOne = PARTITION_READS / (0.5 / POLL_S);
  return [
    `**Limits:** ${whole(PARTITION_WRITES / 2)} cycles a second of one name,`,
    `${whole(readersOfOne)} processes that wait for one name at the slowest poll of ${POLL_S} s,`,
    `and ${whole(PARTITION_WRITES / writesASecond(1, 10_000))} leases of 30 s on one partition.`,
  ].join(" ");
}

const prices = () =>
  `Prices: ${ON_DEMAND_PRICES.currency} ${ON_DEMAND_PRICES.perMillionWriteUnits} for a million write units and ${ON_DEMAND_PRICES.perMillionReadUnits} for a million read units (${ON_DEMAND_PRICES.asOf}). Check your own region.`;

export const SCALE_TABLES = { fleets, limits, prices };
