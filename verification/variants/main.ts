/**
 * Hunts for every known-bad variant of the core: `node scripts/sim-variants.mjs`. Fails if a variant is not caught by its
 * named check.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { VARIANTS } from "./all.js";
import { UnusedEdits } from "./bundle.js";
import { expectSound, seedsInWorld, WORLD_SEEDS } from "./in-world.js";
import { Recorded } from "./recorded.js";
import { huntByPlacements, huntFor } from "./run.js";
import { variantsTable } from "./tables.js";
import { notCaught, runTests, type Tested } from "./tested.js";
import { firstSeedOf, type InSimulation, isSimulated, type Variant } from "./variant.js";

const HELP = `node scripts/sim-variants.mjs [options]
  --only NAME    only this variant; repeatable
  --ranges N     the number of disjoint ranges of seeds for each variant (default 9)
  --first        hunts in one range, which begins with the seed that caught the variant last, as \`npm run test:long\` does
  --world        hunts in ${WORLD_SEEDS} runs of the world, where any checker may catch any variant; fails only if the
                 code without a defect is rejected
  --placements   hunts with every placement of one fault, where any checker may catch any variant; fails as --world does
  --list         only print every variant, its defect, and the check which catches it
  --write        write the medians to verification/variants/medians.json, or the seeds of --first to catching.json, the results
                 of --world to in-world.json, and those of --placements to in-placements.json`;

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    ranges: { type: "string", default: "9" },
    first: { type: "boolean", default: false },
    world: { type: "boolean", default: false },
    placements: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const root = process.cwd();
const recordedMedians = new Recorded<number>(root, "medians.json");
const recordedCatching = new Recorded<number>(root, "catching.json");
const recordedInWorld = new Recorded<number | null>(root, "in-world.json");
const recordedInPlacements = new Recorded<string | null>(root, "in-placements.json");
const medians = new Map<string, number>();
const catching = new Map<string, number>();
let missed = 0;

function report(variant: Variant, isCaught: boolean, how: string): void {
  if (!isCaught) missed += 1;
  console.log(`${isCaught ? "caught" : "MISSED"}  ${variant.name}: ${how}`);
}

/** The first seed of each range. */
function rangesOf({ name }: Variant): number[] {
  if (values.first) return [recordedCatching.read()[name] ?? firstSeedOf(1)];
  return Array.from({ length: Number(values.ranges) }, (_, index) => firstSeedOf(index + 1));
}

async function huntOne(variant: Variant & { readonly caughtBy: InSimulation }): Promise<void> {
  const found = await huntFor(root, variant, rangesOf(variant));
  const seeds = found.map((one) => one.seeds ?? Number.POSITIVE_INFINITY);
  const median = seeds.toSorted((a, b) => a - b)[Math.floor(seeds.length / 2)] ?? Number.NaN;
  medians.set(variant.name, median);
  const [first] = found.flatMap((one) => (one.seeds === null ? [] : [one.from + one.seeds - 1]));
  if (first !== undefined) catching.set(variant.name, first);
  const { invariant, within } = variant.caughtBy;
  const besides = found.map((one) => JSON.stringify(one.besides)).filter((one) => one !== "{}");
  const isCaught = seeds.every((one) => one <= within);
  const text = `${invariant} after ${seeds.join(", ")} seeds, median ${median}, limit ${within}`;
  report(
    variant,
    isCaught,
    isCaught ? text : `${text}; further violations: ${besides.join(" ") || "none"}`,
  );
}

/** Hunts for one variant on each processor at a time. */
async function huntAll<V extends Variant>(
  variants: readonly V[],
  hunt: (variant: V) => Promise<void>,
): Promise<void> {
  const left = [...variants];
  const hunter = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const variant = next;
      await hunt(variant).catch((error: unknown) => report(variant, false, String(error)));
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, hunter));
}

async function huntAllInWorld(variants: readonly Variant[]): Promise<void> {
  await expectSound(root);
  const results = new Map<string, number | null>();
  await huntAll(variants, async (variant) => {
    const seeds = await seedsInWorld(root, variant);
    results.set(variant.name, seeds);
    // The whole hunt takes almost an hour. Writing after each variant keeps the results if a user stops it.
    if (values.write) recordedInWorld.write(VARIANTS, results);
    const text = seeds === null ? `not in ${WORLD_SEEDS} seeds` : `after ${seeds} seeds`;
    console.log(`${seeds === null ? "missed" : "caught"}  ${variant.name}: ${text}`);
  });
  const caught = [...results.values()].filter((seeds) => seeds !== null).length;
  console.log(`The world caught ${caught} of ${variants.length} variants.`);
}

async function huntAllByPlacements(variants: readonly Variant[]): Promise<void> {
  const sound = await huntByPlacements(root, undefined);
  if (sound !== null) throw new Error(`Without a defect, this fails: ${sound.placement}`);
  const results = new Map<string, string | null>();
  await huntAll(variants, async (variant) => {
    const caught = await placementOf(variant);
    results.set(variant.name, caught);
    if (values.write) recordedInPlacements.write(VARIANTS, results);
    console.log(
      `${caught === null ? "missed" : "caught"}  ${variant.name}: ${caught ?? "by no fault"}`,
    );
  });
  const caught = [...results.values()].filter((one) => one !== null).length;
  console.log(`One fault in every place caught ${caught} of ${variants.length} variants.`);
}

/** Returns the first placement that shows the defect, and what it breaks; null if none does, or none uses the code. */
async function placementOf(variant: Variant): Promise<string | null> {
  try {
    const caught = await huntByPlacements(root, variant);
    return caught === null ? null : `${caught.placement}; ${caught.invariants.join(", ")}`;
  } catch (error) {
    if (error instanceof UnusedEdits) return null;
    throw error;
  }
}

async function testAll(variants: readonly Variant[]): Promise<void> {
  const tested = variants.filter((variant): variant is Tested => !isSimulated(variant));
  if (tested.length === 0) return;
  const results = await runTests(root, tested);
  for (const variant of tested) {
    const why = notCaught(variant, results);
    const { test, title } = variant.caughtBy;
    report(variant, why === undefined, why ?? `${test} "${title}"`);
  }
}

async function main(): Promise<void> {
  const variants = VARIANTS.filter(
    ({ name }) => values.only.length === 0 || values.only.includes(name),
  );
  if (variants.length === 0) throw new Error(`No variant is named ${values.only.join(", ")}.`);
  const startMs = performance.now();
  if (values.world) return huntAllInWorld(variants);
  if (values.placements) return huntAllByPlacements(variants);
  await huntAll(variants.filter(isSimulated), huntOne);
  await testAll(variants);
  const seconds = Math.round((performance.now() - startMs) / 1000);
  console.log(`${variants.length} variants in ${seconds} s, ${missed} not caught.`);
  if (missed > 0 || !values.write) return;
  if (values.first) recordedCatching.write(VARIANTS, catching);
  else recordedMedians.write(VARIANTS, medians);
}

if (values.help) console.log(HELP);
else if (values.list)
  console.log(variantsTable(VARIANTS, recordedMedians.read(), recordedInWorld.read()));
else await main();
if (missed > 0) process.exitCode = 1;
