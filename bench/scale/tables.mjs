// The tables of docs/scale.md: what follows on paper from schedules that were counted, limits and prices.
import { seededRandom } from "../../dist/testing/index.js";
import { loadSource } from "../../scripts/lib/source.mjs";
import { fullestPart, mostOf, placesOf, renewalsBySecond, writesASecond } from "./schedules.mjs";

const { ON_DEMAND_PRICES } = await loadSource("cli/election-cost");

/** What one partition of a table takes: DynamoDB's published limits. */
const PARTITION_WRITES = 1_000;
const PARTITION_READS = 3_000;
const MONTH_S = 730 * 3_600;
/** Every so often a lock on a session is written once, so that TTL does not reach it. */
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

/** How many partitions it takes for so many writes, until the fullest has no more renewals than it can carry. */
function partitionsFor({ count, renewMs }, places, writes) {
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

const GRANTS = [
  { what: "all at one instant", grantedOverMs: 0 },
  { what: "within 10 s", grantedOverMs: 10_000 },
  { what: "within 60 s", grantedOverMs: 60_000 },
];
const SECONDS = [10, 30, 60, 120, 300];

/** How the writes of many that began together spread: the busiest second of the period before each instant. */
function spreads() {
  return table(
    GRANTS.map(({ what, grantedOverMs }) => {
      const random = seededRandom(1);
      const bySecond = renewalsBySecond({
        count: 100_000,
        renewMs: 10_000,
        grantedOverMs,
        fromS: 0,
        toS: 300,
        fraction: () => random.fraction(),
      });
      const mean = writesASecond(100_000, 10_000);
      const busiest = (toS) => mostOf(bySecond.subarray(toS - 10, toS)) / mean;
      return {
        granted: what,
        ...Object.fromEntries(SECONDS.map((s) => [`${s} s`, busiest(s).toFixed(2)])),
      };
    }),
  );
}

const POLL_S = 2;

function limits() {
  // A poll is an eventually consistent read: half a unit.
  const readersOfOne = PARTITION_READS / (0.5 / POLL_S);
  return table([
    {
      limit: "grants and releases of one name",
      figure: `${whole(PARTITION_WRITES / 2)} cycles a second`,
    },
    {
      limit: "processes that wait for one name, at the slowest poll of 2 s",
      figure: whole(readersOfOne),
    },
    {
      limit: "leases of 30 s, of locks or of sessions, whose renewals fill one partition",
      figure: whole(PARTITION_WRITES / writesASecond(1, 10_000)),
    },
  ]);
}

const prices = () =>
  `Prices: ${ON_DEMAND_PRICES.currency} ${ON_DEMAND_PRICES.perMillionWriteUnits} for a million write units and ${ON_DEMAND_PRICES.perMillionReadUnits} for a million read units (${ON_DEMAND_PRICES.asOf}). Check what holds for you.`;

export const SCALE_TABLES = { fleets, spreads, limits, prices };
