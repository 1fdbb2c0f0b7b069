/**
 * Hunts for one variant in ranges of seeds; bundled once for each variant, with its defect. Prints one line of JSON
 * for each range: the number of seeds until the invariant failed.
 */
import { parseArgs } from "node:util";
import { simulateAssign } from "../sim/assign/simulation.js";
import { simulate, simulateWorld } from "../sim/simulation.js";
import { WORLD_KINDS } from "../sim/world/traits.js";
import { ANY_INVARIANT, ANY_WORLD, type Found } from "./hunt-options.js";

/** The simulated time of each seed, in milliseconds. */
const LENGTH_MS = 60_000;

function simulated(
  seed: number,
  of: string | undefined,
): Promise<{ readonly violations: readonly { readonly invariant: string }[] }> {
  if (of === ANY_WORLD) {
    return simulateWorld(seed, LENGTH_MS, WORLD_KINDS[seed % WORLD_KINDS.length]);
  }
  const world = WORLD_KINDS.find((kind) => kind === of);
  if (world !== undefined) return simulateWorld(seed, LENGTH_MS, world);
  if (of === "assignments") return simulateAssign(seed);
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
    const isCaught = invariant === ANY_INVARIANT ? all.size > 0 : all.has(invariant);
    if (isCaught) return { from, seeds: seed - from + 1, besides };
    for (const other of all) besides[other] = (besides[other] ?? 0) + 1;
  }
  return { from, seeds: null, besides };
}

// A rejection without a handler is part of the defect, and must not end the hunt.
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
