/**
 * Hunts for one variant in ranges of seeds; bundled once for each variant, with its error in it. Prints
 * one line of JSON for each range: after how many seeds the invariant fell.
 */
import { parseArgs } from "node:util";
import { simulateOnce } from "../sim/once/simulation.js";
import { simulateQueue } from "../sim/queue/simulation.js";
import { simulate } from "../sim/simulation.js";

/** How long each seed is simulated, in milliseconds. */
const LENGTH_MS = 60_000;
/** How many occurrences of tasks, some weeks. */
const OCCURRENCES = 12;

/** What a hunt found in one range. */
export interface Found {
  readonly from: number;
  /** How many seeds it took; null if the invariant stood in all of them. */
  readonly seeds: number | null;
  /** What else fell on the way, and in how many seeds; errors count as well. */
  readonly besides: Readonly<Record<string, number>>;
}

function simulated(
  seed: number,
  of: string | undefined,
): Promise<{ readonly violations: readonly { readonly invariant: string }[] }> {
  if (of === "fair locks") return simulateQueue({ seed, lengthMs: LENGTH_MS });
  if (of === "occurrences") return simulateOnce(seed, OCCURRENCES);
  return simulate(seed, LENGTH_MS);
}

async function fallen(seed: number, of: string | undefined): Promise<Set<string>> {
  try {
    const { violations } = await simulated(seed, of);
    return new Set(violations.map(({ invariant }) => invariant));
  } catch (error) {
    return new Set([`error: ${String(error)}`]);
  }
}

async function hunt(
  invariant: string,
  from: number,
  within: number,
  of: string | undefined,
): Promise<Found> {
  const besides: Record<string, number> = {};
  for (let seed = from; seed < from + within; seed += 1) {
    const all = await fallen(seed, of);
    if (all.has(invariant)) return { from, seeds: seed - from + 1, besides };
    for (const other of all) besides[other] = (besides[other] ?? 0) + 1;
  }
  return { from, seeds: null, besides };
}

// A promise that nobody waits for is an error of the variant, which must not end the hunt.
process.on("unhandledRejection", () => undefined);

const { values } = parseArgs({
  options: {
    invariant: { type: "string", default: "" },
    from: { type: "string", multiple: true, default: [] },
    within: { type: "string", default: "1" },
    of: { type: "string" },
  },
});
for (const from of values.from) {
  console.log(
    JSON.stringify(await hunt(values.invariant, Number(from), Number(values.within), values.of)),
  );
}
