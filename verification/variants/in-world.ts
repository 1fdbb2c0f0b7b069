import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFigures } from "../../scripts/lib/figures.mjs";
import { huntInWorld } from "./run.js";
import { firstSeedOf, type Variant } from "./variant.js";

/** How many seeds of the world caught each variant: null if none of {@link WORLD_SEEDS} did. */
export type InWorld = Readonly<Record<string, number | null>>;

/** The longest hunt in the world, in seeds: ten of each kind. */
export const WORLD_SEEDS = 60;

const FILE = "verification/variants/in-world.json";

/** The code without a defect: its runs must not break an invariant, or the world would catch nothing. */
const AS_IT_IS: Variant = {
  name: "as-it-is",
  what: "No defect.",
  rules: [],
  edits: [],
  caughtBy: { invariant: "", within: 0 },
};

/** Returns the seeds until a run of the world fails; null if none does, or if no run uses the changed code. */
export async function seedsInWorld(root: string, variant: Variant): Promise<number | null> {
  try {
    const [found] = await huntInWorld(root, variant, [firstSeedOf(1)], WORLD_SEEDS);
    return found?.seeds ?? null;
  } catch (error) {
    if (String(error).includes("Nothing imports")) return null;
    throw error;
  }
}

/** Rejects if a run of the code without a defect fails. */
export async function expectSound(root: string): Promise<void> {
  const seeds = await seedsInWorld(root, AS_IT_IS);
  if (seeds !== null) throw new Error(`Without a defect, a run fails after ${seeds} seeds.`);
}

/** Returns the results of the last hunt in the world that was written. */
export function readInWorld(root: string): InWorld {
  return JSON.parse(readFileSync(join(root, FILE), "utf8")) as InWorld;
}

/** Writes the results, in the order of the variants, and keeps the earlier results of the remaining variants. */
export function writeInWorld(root: string, variants: readonly Variant[], results: InWorld): void {
  const all: InWorld = { ...readInWorld(root), ...results };
  const known = variants.filter(({ name }) => all[name] !== undefined);
  const kept = Object.fromEntries(known.map(({ name }) => [name, all[name]]));
  writeFigures(join(root, FILE), `${JSON.stringify(kept, undefined, 2)}\n`);
}
